package figures

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
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

// Announce notes the code versions that a node has, as far as no node had them before. Code without a version is not noted.
func Announce(ctx context.Context, store provider.Keeper, runs []provider.Capability) error {
	scan := provider.RecordRequest{Action: provider.RecordScan, Namespace: space, Prefix: versions + "/", Max: versionsMost}
	res, err := store.Record(ctx, scan)
	if err != nil {
		return fmt.Errorf("noting code versions: %w", err)
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
	for _, of := range runs {
		if of.CodeVersion == "" || reserved.Name(of.Name) {
			continue
		}
		v := Version{Name: of.Name, Version: of.CodeVersion, At: res.Now}
		value, err := encode(&v)
		if err != nil {
			return err
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
		_, _ = store.Record(ctx, put) // another node may have come first
	}
	return nil
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
