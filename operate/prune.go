package operate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

// MinPruneAge is the least age of what is pruned, unless Pruning.Young is set. The ID of a pruned instance can be used again. So a start that
// is repeated later than this, such as a webhook that is delivered again, starts an instance anew in spite of client.Reject.
const MinPruneAge = 24 * time.Hour

// pruneStep is how many instances one call of the store removes, so that none takes long.
const pruneStep = 200

// maxPruneNames is less than the limit of the storage, which takes the names of perdure itself besides.
const maxPruneNames = 900

// Pruning selects ended instances to delete. Zero fields do not restrict, except Age.
type Pruning struct {
	Age         time.Duration   // since the end, at least MinPruneAge
	Names       []string        // of orchestrations, at most 900; none: all
	ExceptNames []string        // of orchestrations whose instances stay, at most 900
	Statuses    []client.Status // of ended instances; none: all
	Young       bool            // allows any Age
	Preview     bool            // delete nothing: Pruned.Instances is how many would go
	Limit       int64           // stop after so many, or a few more; 0: delete all
	Cursor      string          // "" to begin with the oldest, else Pruned.Cursor
	Progress    func(instances int64)

	system bool // of perdure itself
}

// Pruned says how many instances Prune has deleted. Cursor is "" unless the limit was reached.
type Pruned struct {
	Instances int64  `json:"instances"` // children included
	Cursor    string `json:"cursor,omitempty"`
}

// Prune deletes ended instances for good, with their histories, the ones that ended first before others. Children go with their parent, and a
// parent with a child that runs stays. So do the newest runs of schedules, and the instances of perdure itself. Prune works in small steps,
// so that other work goes on; Progress is called after each of them.
//
// With Preview it only counts, for which a viewer has the right.
//
// If it fails, it returns what it has deleted so far. Errors are client.ErrInvalid, client.ErrForbidden, an error that wraps errors.ErrUnsupported for a
// store that cannot prune, or the error of ctx.
func (o *Operator) Prune(ctx context.Context, p Pruning) (Pruned, error) {
	const op = "pruning instances"
	if err := o.usable(ctx); err != nil {
		return Pruned{}, fmt.Errorf("%s: %w", op, err)
	}
	req, err := p.request()
	if err != nil {
		return Pruned{}, fmt.Errorf("%s: %w", op, err)
	}
	done := Pruned{Cursor: p.Cursor}
	prune := func(ctx context.Context) (err error) {
		if req.Spare, err = o.exemptRuns(ctx, op); err != nil {
			return err
		}
		return o.prune(ctx, op, req, &p, &done)
	}
	if p.Preview {
		err = prune(ctx)
		return done, err
	}
	a := access.Act{Kind: string(client.ActPrune), Op: op, Other: "ended instances", Detail: p.detail()}
	err = o.caller.Perform(ctx, &a, prune)
	return done, err
}

func (o *Operator) prune(ctx context.Context, op string, req provider.PruneRequest, p *Pruning, done *Pruned) error {
	for {
		if p.Limit > 0 {
			req.Max = int(min(pruneStep, p.Limit-done.Instances))
		}
		req.Cursor = done.Cursor
		var res provider.PruneResult
		_, err := o.caller.Store.Write(ctx, op, func(ctx context.Context) (err error) {
			res, err = o.caller.Store.Prune(ctx, req)
			done.Instances += res.Instances // also of a try that failed in its middle
			return err
		})
		if err != nil {
			return access.Explain(op, 0, err)
		}
		done.Cursor = res.Cursor
		if p.Progress != nil && res.Instances > 0 {
			p.Progress(done.Instances)
		}
		if done.Cursor == "" || p.Limit > 0 && done.Instances >= p.Limit {
			return nil
		}
	}
}

// request checks the selection and returns it in the form of the storage.
func (p *Pruning) request() (provider.PruneRequest, error) {
	req := provider.PruneRequest{Age: p.Age, Names: p.Names, ExceptNames: p.ExceptNames, Max: pruneStep, Look: p.Preview}
	if err := checkPruneAge(p.Age, p.Young); err != nil {
		return req, err
	}
	if p.Limit < 0 {
		return req, fmt.Errorf("%w: limit %d: give 1 or more, or 0 for none", client.ErrInvalid, p.Limit)
	}
	for _, list := range []struct {
		field string
		names []string
	}{{"Names", p.Names}, {"ExceptNames", p.ExceptNames}} {
		if err := checkNames(list.field, list.names); err != nil {
			return req, err
		}
	}
	for _, s := range p.Statuses {
		known, ok := provider.ParseStatus(string(s))
		if !ok || !known.Ended() || known > provider.StatusTerminated {
			return req, fmt.Errorf("%w: status %q is none of an ended instance: give Completed, Failed, Cancelled or Terminated", client.ErrInvalid, s)
		}
		if !slices.Contains(req.Statuses, known) {
			req.Statuses = append(req.Statuses, known)
		}
	}
	if p.system {
		req.Names = reserved.Names()
	} else {
		req.ExceptNames = slices.Concat(p.ExceptNames, reserved.Names())
	}
	return req, nil
}

// checkPruneAge refuses an age that lets repeated starts begin anew.
func checkPruneAge(age time.Duration, young bool) error {
	switch {
	case age < 0:
		return fmt.Errorf("%w: age %v is negative: give the time since the end", client.ErrInvalid, age)
	case age < MinPruneAge && !young:
		return fmt.Errorf("%w: age %v is less than %v, within which a repeated start must find its instance: give more, or set Young",
			client.ErrInvalid, age, MinPruneAge)
	}
	return nil
}

// checkNames checks a list of names of orchestrations.
func checkNames(field string, names []string) error {
	if len(names) > maxPruneNames {
		return fmt.Errorf("%w: %s has %d names: give at most %d", client.ErrInvalid, field, len(names), maxPruneNames)
	}
	for _, name := range names {
		if err := access.Name("orchestration name", name); err != nil {
			return err
		}
		if reserved.Name(name) {
			return fmt.Errorf("%w: orchestration name %s belongs to perdure itself, whose instances stay", client.ErrInvalid, check.Quote(name))
		}
	}
	return nil
}

// detail describes the selection for the audit.
func (p *Pruning) detail() string {
	text := fmt.Sprintf("ended %v ago", p.Age)
	if len(p.Names) > 0 {
		text += fmt.Sprintf(", of %q", p.Names)
	}
	if len(p.ExceptNames) > 0 {
		text += fmt.Sprintf(", not of %q", p.ExceptNames)
	}
	if len(p.Statuses) > 0 {
		text += fmt.Sprintf(", %q", p.Statuses)
	}
	return text
}
