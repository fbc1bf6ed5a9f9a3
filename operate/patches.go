package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
)

const (
	defaultPatchScan = 10_000
	patchExamples    = 20
)

// PatchScan selects what Patches reads.
type PatchScan struct {
	Orchestration string // stored name; "": all
	Limit         int    // instances that are read at most, newest first; 0: 10,000
	// Progress is called after each instance with the number of those read so far. It must be quick. Nil: not called.
	Progress func(read int)
}

// PatchReport shows the patches that running instances have.
type PatchReport struct {
	Patches []PatchUse `json:"patches"` // by orchestration and ID
	Read    int        `json:"read"`    // instances
	Cut     bool       `json:"cut"`     // the limit left out older instances: they may need the old code of any patch
}

// PatchUse is a patch of one orchestration, in the current executions of its running and suspended instances.
type PatchUse struct {
	Orchestration string    `json:"orchestration"`
	Patch         string    `json:"patch"`
	FirstSeen     time.Time `json:"firstSeen"` // the earliest marker in the instances that were read
	Marked        int       `json:"marked"`    // instances with the marker
	// MayNeedOld are instances without the marker that were started by FirstSeen. They may still need the old branch.
	MayNeedOld int `json:"mayNeedOld"`
	// Later are instances without the marker that were started since. Their code has not come to the patch, or a node with
	// older code has run them during the deploy. Those may need the old branch, too.
	Later int `json:"later"`
	// Examples are IDs of MayNeedOld, at most 20, newest first.
	Examples []string `json:"examples,omitempty"`
}

// Patches reports which patches the running and suspended instances have, and how many instances may still need the old
// branch of each. No index has that: Patches lists the instances, and reads the histories of those that can have a marker.
// Instances that change meanwhile count as they were when they were read. A patch that no such instance has is not in the
// report.
func (o *Operator) Patches(ctx context.Context, scan PatchScan) (PatchReport, error) {
	const op = "reading the patches"
	if err := o.usable(ctx); err != nil {
		return PatchReport{}, fmt.Errorf("%s: %w", op, err)
	}
	if scan.Limit < 0 {
		return PatchReport{}, fmt.Errorf("%s: %w: limit %d: give 1 or more, or 0 for %d", op, client.ErrInvalid, scan.Limit, defaultPatchScan)
	}
	limit := cmp.Or(scan.Limit, defaultPatchScan)
	f := client.Filter{Orchestration: scan.Orchestration, Statuses: []client.Status{client.StatusRunning, client.StatusSuspended}, Replaced: true}
	report := PatchReport{Patches: []PatchUse{}}
	var found []patchedInstance
	for d, err := range o.client.All(ctx, f) {
		if err != nil {
			return PatchReport{}, fmt.Errorf("%s: %w", op, err)
		}
		if report.Cut = report.Read == limit; report.Cut {
			break
		}
		i, err := o.patchesOf(ctx, &d)
		if err != nil && !errors.Is(err, client.ErrNotFound) { // deleted since it was listed
			return PatchReport{}, fmt.Errorf("%s: %w", op, err)
		}
		if err == nil && d.HistoryLength > 0 { // else all code of it is to come
			found = append(found, i)
		}
		report.Read++
		if scan.Progress != nil {
			scan.Progress(report.Read)
		}
	}
	report.Patches = append(report.Patches, usesOf(found)...)
	return report, nil
}

// patchedInstance is the current execution of an instance and the times of its markers.
type patchedInstance struct {
	id, orchestration string
	started           time.Time
	markers           map[string]time.Time
}

// patchesOf reads the markers of an instance. A level below that of patches says that there are none. Then one event shows
// when an execution that another one continued as was started.
func (o *Operator) patchesOf(ctx context.Context, d *client.Description) (patchedInstance, error) {
	i := patchedInstance{id: d.ID, orchestration: d.Orchestration, started: d.CreatedAt}
	if d.HistoryLength == 0 || d.EngineLevel < replay.LevelOfPatch && d.Execution == 1 {
		return i, nil
	}
	for e, err := range client.HandleOf[any](o.client, d.ID, d.Key).History(ctx, d.Execution) {
		if err != nil {
			return i, err
		}
		switch {
		case e.ID == 1 && d.Execution > 1:
			i.started = e.Time
		case e.Kind == history.KindPatchMarked.String():
			if i.markers == nil {
				i.markers = map[string]time.Time{}
			}
			i.markers[e.Name] = e.Time
		}
		if d.EngineLevel < replay.LevelOfPatch {
			break
		}
	}
	return i, nil
}

// usesOf counts the instances of each patch.
func usesOf(found []patchedInstance) []PatchUse {
	type name struct{ orchestration, patch string }
	byName := map[name]*PatchUse{}
	for i := range found {
		for patch, at := range found[i].markers {
			n := name{found[i].orchestration, patch}
			u := byName[n]
			if u == nil {
				u = &PatchUse{Orchestration: n.orchestration, Patch: patch, FirstSeen: at}
				byName[n] = u
			}
			u.Marked++
			if at.Before(u.FirstSeen) {
				u.FirstSeen = at
			}
		}
	}
	uses := make([]PatchUse, 0, len(byName))
	for _, u := range byName {
		for i := range found {
			u.count(&found[i])
		}
		uses = append(uses, *u)
	}
	slices.SortFunc(uses, func(a, b PatchUse) int {
		return cmp.Or(cmp.Compare(a.Orchestration, b.Orchestration), cmp.Compare(a.Patch, b.Patch))
	})
	return uses
}

// count counts an instance without the marker.
func (u *PatchUse) count(i *patchedInstance) {
	if _, marked := i.markers[u.Patch]; marked || i.orchestration != u.Orchestration {
		return
	}
	if i.started.After(u.FirstSeen) {
		u.Later++
		return
	}
	u.MayNeedOld++
	if len(u.Examples) < patchExamples {
		u.Examples = append(u.Examples, i.id)
	}
}
