package programs

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/orchestration"
)

func thrownBy(err error) (*ThrownError, bool) { return errors.AsType[*ThrownError](err) }

// nest runs a statement with bodies. It returns the error that a body throws.
func (t *thread) nest(ctx *octx, s *Statement) error {
	switch s.Do {
	case doThrow:
		return &ThrownError{What: fmt.Sprint(s.ID)}
	case doPar:
		t.par(ctx, s)
	case doLoop:
		for range 1 + s.N%3 {
			if err := t.block(ctx, s.Bodies[0]); err != nil {
				return err
			}
		}
	case doTry:
		t.seef(ctx, s, "%s", class(t.block(ctx, s.Bodies[0])))
	case doDetached:
		return t.block(ctx.Detached(), s.Bodies[0])
	case doPatient:
		scope, cancel := ctx.WithTimeout(forever)
		defer cancel()
		return t.block(scope, s.Bodies[0])
	case doTimeout:
		scope, cancel := ctx.WithTimeout(t.w.moments(1 + s.N))
		open := t.beginAll(scope, s.Kinds)
		t.ended(ctx, s, open)
		err := t.block(scope, s.Bodies[0])
		cancel()
		return errors.Join(err, t.block(ctx.Detached(), s.Bodies[1]))
	case doScope:
		scope, cancel := ctx.WithCancel()
		open := t.beginAll(scope, s.Kinds)
		if err := t.block(scope, s.Bodies[0]); err != nil {
			return err
		}
		cancel()
		t.ended(ctx, s, open)
		return errors.Join(t.block(scope, s.Bodies[1]), t.block(ctx.Detached(), s.Bodies[2]))
	default:
		return &ThrownError{What: "unknown statement " + s.Do}
	}
	return nil
}

// ended records how each of the endless things ended.
func (t *thread) ended(ctx *octx, s *Statement, open []endless) {
	for _, e := range open {
		t.seef(ctx, s, "%s", class(e.get(ctx)))
	}
}

// par runs bodies as coroutines and takes over what each saw, in the order of the bodies.
func (t *thread) par(ctx *octx, s *Statement) {
	var futures []orchestration.Future[none]
	var branches []*thread
	for _, body := range s.Bodies {
		branch := &thread{w: t.w}
		branches = append(branches, branch)
		futures = append(futures, ctx.Go(func(ctx *octx) error { return branch.block(ctx, body) }))
	}
	for i, f := range futures {
		_, err := f.Get(ctx)
		t.lines = append(t.lines, branches[i].lines...)
		t.seef(ctx, s, "%s", class(err))
	}
	t.noteOrder(ctx)
}
