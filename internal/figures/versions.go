package figures

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

const (
	// versions is the letter of the records that say when a node had a code version first.
	versions = "v"
	// versionsMost bounds them. Further versions are not noted until old ones are gone.
	versionsMost = 1_000
	// A version that a node still has is written again when its record is older than versionAgain, and removed when it is older than versionsKept.
	versionAgain = 7 * 24 * time.Hour
	versionsKept = 400 * 24 * time.Hour
)

// Version is a code version, with the time at which a node had it first.
type Version struct {
	Name    string        `json:"name"` // of the orchestration
	Version string        `json:"version"`
	At      provider.Time `json:"at"`
}

func (v *Version) key() string {
	sum := sha256.Sum256([]byte(v.Name + "\x00" + v.Version))
	return versions + "/" + hex.EncodeToString(sum[:16])
}

// announce notes the code versions that a node has, as far as no node had them before, and returns the storage's time. That is 0 if the store did
// not answer at all. After an error some versions may be noted. Code without a version is not noted, and costs no more than the time.
func announce(ctx context.Context, store provider.Keeper, runs []provider.Capability) (now provider.Time, err error) {
	has := versionsOf(runs)
	scan := provider.RecordRequest{Action: provider.RecordScan, Namespace: space, Prefix: versions + "/", Max: versionsMost}
	if len(has) == 0 {
		scan.Max = 1
	}
	res, err := store.Record(ctx, scan)
	if err != nil {
		return 0, fmt.Errorf("noting code versions: %w", err)
	}
	stored, left := make(map[string]*provider.Record, len(res.Records)), versionsMost-len(res.Records)
	for i := range res.Records {
		r := &res.Records[i]
		if res.Now.Sub(r.UpdatedAt) > versionsKept {
			_, _ = store.Record(ctx, provider.RecordRequest{Action: provider.RecordDelete, Namespace: space, Key: r.Key, Expect: r.Version})
			continue
		}
		stored[r.Key] = r
	}
	for i := range has {
		v := &has[i]
		v.At = res.Now
		value, err := encode(v)
		if err != nil {
			return res.Now, err
		}
		put := provider.RecordRequest{Action: provider.RecordPut, Namespace: space, Key: v.key(), Value: value}
		if r := stored[put.Key]; r != nil {
			if res.Now.Sub(r.UpdatedAt) < versionAgain {
				continue
			}
			put.Value, put.Expect = r.Value, r.Version
		} else if left--; left < 0 {
			continue
		}
		if _, err = store.Record(ctx, put); err != nil && !errors.Is(err, provider.ErrConflict) { // a conflict: another node has come first
			return res.Now, fmt.Errorf("noting code versions: %w", err)
		}
	}
	return res.Now, nil
}

// versionsOf returns the versions to note, in one order on all nodes. Those that share a version write the same records when they start, and
// runs comes from a map: without the order their calls would not repeat in a simulation.
func versionsOf(runs []provider.Capability) (has []Version) {
	for _, of := range runs {
		if of.CodeVersion != "" && !reserved.Name(of.Name) {
			has = append(has, Version{Name: of.Name, Version: of.CodeVersion})
		}
	}
	slices.SortFunc(has, func(a, b Version) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version)) })
	return has
}

// readVersions returns the versions that came from a time on.
func readVersions(ctx context.Context, store provider.Keeper, from provider.Time) (all []Version, err error) {
	res, err := store.Record(ctx, provider.RecordRequest{Action: provider.RecordScan, Namespace: space, Prefix: versions + "/", Max: versionsMost})
	if err != nil {
		return nil, fmt.Errorf("reading figures: %w", err)
	}
	for i := range res.Records {
		var v Version
		if err := json.Unmarshal(res.Records[i].Value, &v); err != nil {
			return nil, fmt.Errorf("reading figures: record %q: %w", res.Records[i].Key, err)
		}
		if v.At >= from {
			all = append(all, v)
		}
	}
	return all, nil
}
