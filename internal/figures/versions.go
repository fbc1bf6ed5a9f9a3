package figures

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

const (
	// versions is the letter of the records that say when a node had a code version first.
	versions = "v"
	// versionsMost is how many are kept. A new version drops the one that a node has noted longest ago, of those that no running node has.
	versionsMost = 1_000
	// versionsRead bounds what is read of them. Nodes that start at the same time do not see each other's, and nobody drops what a node has itself.
	versionsRead = 5 * versionsMost
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
func announce(ctx context.Context, store provider.Keeper, owner string, runs []provider.Capability) (now provider.Time, err error) {
	has := versionsOf(runs)
	most := versionsRead
	if len(has) == 0 {
		most = 1
	}
	records, now, err := scanVersions(ctx, store, most)
	if err != nil {
		return 0, fmt.Errorf("noting code versions: %w", err)
	}
	stored := make(map[string]*provider.Record, len(records))
	for i := range records {
		stored[records[i].Key] = &records[i]
	}
	var puts []provider.RecordRequest
	fresh := 0
	for i := range has {
		v := &has[i]
		v.At = now
		value, err := encode(v)
		if err != nil {
			return now, err
		}
		put := provider.RecordRequest{Action: provider.RecordPut, Namespace: space, Key: v.key(), Value: value}
		r := stored[put.Key]
		delete(stored, put.Key) // so that it is not dropped
		switch {
		case r == nil:
			fresh++
		case now.Sub(r.UpdatedAt) < versionAgain:
			continue
		default:
			put.Value, put.Expect = r.Value, r.Version
		}
		puts = append(puts, put)
	}
	dropVersions(ctx, store, owner, stored, len(records)+fresh-versionsMost, now)
	for _, put := range puts {
		if _, err = store.Record(ctx, put); err != nil && !errors.Is(err, provider.ErrConflict) { // a conflict: another node has come first
			return now, fmt.Errorf("noting code versions: %w", err)
		}
	}
	return now, nil
}

// dropVersions removes the records that nobody has written for longer than versionsKept, and as many of those written longest ago that so many
// are gone, but for those that another node than the owner has, which runs.
func dropVersions(ctx context.Context, store provider.Keeper, owner string, stored map[string]*provider.Record, many int, now provider.Time) {
	expired := func(r *provider.Record) bool { return now.Sub(r.UpdatedAt) > versionsKept }
	if many <= 0 && !slices.ContainsFunc(slices.Collect(maps.Values(stored)), expired) {
		return
	}
	had, err := versionsHad(ctx, store, owner)
	if err != nil {
		return // the next node that starts drops them
	}
	maps.DeleteFunc(stored, func(key string, r *provider.Record) bool { return had.keys[key] || r.UpdatedAt >= had.from })
	oldest := slices.SortedFunc(maps.Values(stored), func(a, b *provider.Record) int {
		return cmp.Or(cmp.Compare(a.UpdatedAt, b.UpdatedAt), cmp.Compare(a.Key, b.Key))
	})
	for i, r := range oldest {
		if i >= many && !expired(r) {
			return
		}
		_, _ = store.Record(ctx, provider.RecordRequest{Action: provider.RecordDelete, Namespace: space, Key: r.Key, Expect: r.Version})
	}
}

// had says which versions the nodes of a store have.
type had struct {
	keys map[string]bool
	from provider.Time // a node that runs more than its entry lists may have all that were written from then on
}

// versionsHad returns the versions of the nodes of the list but one.
func versionsHad(ctx context.Context, store provider.Keeper, but string) (had, error) {
	h := had{map[string]bool{}, math.MaxInt64}
	nodes, _, err := upgrade.Nodes(ctx, store)
	if err != nil {
		return h, err
	}
	for i := range nodes {
		n := &nodes[i]
		if n.Owner == but {
			continue
		}
		for _, o := range n.Orchestrations {
			v := Version{Name: o.Name, Version: o.Version}
			h.keys[v.key()] = true
		}
		if n.Count > len(n.Orchestrations) { // when it started, none of its own had been written longer ago than versionAgain; clocks may differ
			h.from = min(h.from, n.Started.Add(-versionAgain-24*time.Hour))
		}
	}
	return h, nil
}

// scanVersions returns the records of versions, at most a number, and the storage's time.
func scanVersions(ctx context.Context, store provider.Keeper, most int) (all []provider.Record, now provider.Time, err error) {
	scan := provider.RecordRequest{Action: provider.RecordScan, Namespace: space, Prefix: versions + "/", Max: min(most, provider.MaxPage)}
	for {
		res, err := store.Record(ctx, scan)
		if err != nil {
			return nil, 0, err
		}
		if all = append(all, res.Records...); len(res.Records) < scan.Max || len(all) >= most {
			return all, res.Now, nil
		}
		scan.Key = all[len(all)-1].Key
	}
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
	records, _, err := scanVersions(ctx, store, versionsRead)
	if err != nil {
		return nil, fmt.Errorf("reading figures: %w", err)
	}
	for i := range records {
		var v struct {
			stamp
			Version
		}
		newer, err := decode(records[i].Value, &v)
		if err != nil {
			return nil, fmt.Errorf("reading figures: record %q: %w", records[i].Key, err)
		}
		if !newer && v.At >= from {
			all = append(all, v.Version)
		}
	}
	return all, nil
}
