package operate

import (
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/provider"
)

// compactStep is how many bytes one call of the store gives back, so that none takes long.
const compactStep = 4 << 20

// Trimming selects old executions of instances that continue as new.
type Trimming struct {
	Age      time.Duration // since the next execution began
	Keep     int           // executions before the current one that stay, 1 to 1,000; 0: 1
	Limit    int64         // stop after so many; 0: trim all
	Cursor   string        // "" to begin, else Trimmed.Cursor
	Preview  bool          // remove nothing: Trimmed.Executions is how many would go
	Progress func(executions int64)
}

// Trimmed says how many executions were removed. Cursor is "" unless the limit was reached.
type Trimmed struct {
	Executions int64  `json:"executions"`
	Cursor     string `json:"cursor,omitempty"`
}

// Trim removes old executions of instances that continue as new for ever, with their histories. The instances go on. Their last executions
// can be read, reset and forked, earlier ones cannot. With Preview it only counts, for which a viewer has the right. Errors are those of Prune.
func (o *Operator) Trim(ctx context.Context, t Trimming) (Trimmed, error) {
	const op = "trimming executions"
	done := Trimmed{Cursor: t.Cursor}
	trimmer, err := o.trimmer(ctx, &t)
	if err != nil {
		return done, fmt.Errorf("%s: %w", op, err)
	}
	if t.Preview {
		err = o.trim(ctx, op, trimmer, &t, &done)
		return done, err
	}
	a := access.Act{Kind: string(client.ActPrune), Op: op, Other: "old executions", Detail: fmt.Sprintf("left %v ago, all but the last %d", t.Age, max(t.Keep, 1))}
	err = o.caller.Perform(ctx, &a, func(ctx context.Context) error { return o.trim(ctx, op, trimmer, &t, &done) })
	return done, err
}

// trimmer checks the selection, and returns what can trim it.
func (o *Operator) trimmer(ctx context.Context, t *Trimming) (provider.Trimmer, error) {
	err := o.usable(ctx)
	switch {
	case err != nil:
	case t.Age < 0:
		err = fmt.Errorf("%w: age %v is negative: give the time since the execution was left", client.ErrInvalid, t.Age)
	case t.Keep < 0 || t.Keep > provider.MaxBatch:
		err = fmt.Errorf("%w: keep %d: give 1 to %d, or 0 for 1", client.ErrInvalid, t.Keep, provider.MaxBatch)
	case t.Limit < 0:
		err = fmt.Errorf("%w: limit %d: give 1 or more, or 0 for none", client.ErrInvalid, t.Limit)
	}
	if err != nil {
		return nil, err
	}
	trimmer, ok := provider.As[provider.Trimmer](o.caller.Store.Provider)
	if !ok {
		return nil, provider.Lacking("trim", "Trimmer")
	}
	return trimmer, nil
}

func (o *Operator) trim(ctx context.Context, op string, trimmer provider.Trimmer, t *Trimming, done *Trimmed) error {
	for {
		req := provider.TrimRequest{Age: t.Age, Keep: t.Keep, Max: pruneStep, Cursor: done.Cursor, Look: t.Preview}
		if t.Limit > 0 {
			req.Max = int(min(pruneStep, t.Limit-done.Executions))
		}
		var res provider.TrimResult
		_, err := o.caller.Store.Write(ctx, op, func(ctx context.Context) (err error) {
			res, err = trimmer.Trim(ctx, req)
			done.Executions += res.Executions // also of a try that failed in its middle
			return err
		})
		if err != nil {
			return access.Explain(op, 0, err)
		}
		done.Cursor = res.Cursor
		if t.Progress != nil && res.Executions > 0 {
			t.Progress(done.Executions)
		}
		if done.Cursor == "" || t.Limit > 0 && done.Executions >= t.Limit {
			return nil
		}
	}
}

// Compaction says how much space Compact gives back.
type Compaction struct {
	Limit    int64 // bytes; 0: all that is free
	Rebuild  bool  // write the store anew, without any gap
	Progress func(bytes int64)
}

// Space is what a store takes of its disk, in bytes.
type Space struct {
	Freed int64 `json:"freed"` // given back by this call
	Free  int64 `json:"free"`  // inside the store, for what comes
	Size  int64 `json:"size"`
	Fixed bool  `json:"fixed,omitempty"` // only a rebuild can give space back
}

// Compact gives space that is free inside the store back to the disk, in small steps beside other work. A SQLite file of an older release
// needs a rebuild once: Space.Fixed says so. During a rebuild other callers of the file wait, and the file needs its own size again on the
// disk. So stop the nodes first. Postgres does this itself: the error wraps errors.ErrUnsupported.
func (o *Operator) Compact(ctx context.Context, k Compaction) (Space, error) {
	const op = "compacting the store"
	if err := o.usable(ctx); err != nil {
		return Space{}, fmt.Errorf("%s: %w", op, err)
	}
	if k.Limit < 0 {
		return Space{}, fmt.Errorf("%s: %w: limit %d: give bytes, or 0 for all that is free", op, client.ErrInvalid, k.Limit)
	}
	compactor, ok := provider.As[provider.Compactor](o.caller.Store.Provider)
	if !ok {
		return Space{}, fmt.Errorf("%s: %w", op, provider.Lacking("compact", "Compactor"))
	}
	var space Space
	a := access.Act{Kind: string(client.ActPrune), Op: op, Other: "free space"}
	err := o.caller.Perform(ctx, &a, func(ctx context.Context) error { return o.compact(ctx, op, compactor, &k, &space) })
	return space, err
}

func (o *Operator) compact(ctx context.Context, op string, compactor provider.Compactor, k *Compaction, space *Space) error {
	for {
		step := provider.CompactRequest{Bytes: compactStep, Rebuild: k.Rebuild}
		if k.Limit > 0 {
			step.Bytes = min(step.Bytes, k.Limit-space.Freed)
		}
		var res provider.CompactResult
		var err error
		if k.Rebuild {
			res, err = compactor.Compact(ctx, step) // it takes as long as it takes, and is not repeated
		} else {
			res, err = access.Read(ctx, o.caller.Store, op, compactor.Compact, step)
		}
		if err != nil {
			return access.Explain(op, 0, err)
		}
		*space = Space{Freed: space.Freed + res.Freed, Free: res.Free, Size: res.Size, Fixed: res.Fixed}
		if k.Progress != nil {
			k.Progress(space.Freed)
		}
		if k.Rebuild || res.Fixed || res.Freed == 0 || res.Free == 0 || k.Limit > 0 && space.Freed >= k.Limit {
			return nil
		}
	}
}
