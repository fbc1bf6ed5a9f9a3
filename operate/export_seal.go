package operate

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/provider"
)

// A member is an instance of an export.
type member struct {
	id    string
	key   provider.UUID
	ended bool
}

// exporting is one export.
type exporting struct {
	caller   *access.Caller
	mover    provider.Mover
	opts     *ExportOptions
	transfer provider.UUID
	op       string
	known    map[provider.UUID]*member
	list     []*member // in the order in which they were found
	next     int       // the first that is not held yet
	res      ExportResult
}

// reportProgress reports progress.
func (e *exporting) reportProgress(step string, done, total int) {
	if e.opts.Progress != nil {
		e.opts.Progress(MoveProgress{Step: step, Done: int64(done), Total: int64(total)})
	}
}

// rounds is how often a list is read again for instances that came meanwhile.
const rounds = 20

// collect finds the instances and holds those that run, with their families. A held instance starts no child. So once a round finds
// nothing new, all that is chosen stands still.
func (e *exporting) collect(ctx context.Context) error {
	for _, id := range e.opts.IDs {
		res, err := e.caller.Store.Instance(ctx, access.Target{ID: id}, e.op, false)
		if err != nil {
			return err
		}
		e.add(&res.Instance)
	}
	for range rounds {
		before := len(e.list)
		if err := e.chosen(ctx); err != nil {
			return err
		}
		if err := e.hold(ctx); err != nil {
			return err
		}
		if len(e.list) == before || e.opts.Filter == nil && len(e.opts.IDs) > 0 {
			return nil
		}
	}
	return fmt.Errorf("%s: %w: new instances keep coming: stop the programs that start them", e.op, client.ErrConflict)
}

// chosen adds what the filter finds.
func (e *exporting) chosen(ctx context.Context) error {
	if e.opts.Filter == nil && len(e.opts.IDs) > 0 {
		return nil
	}
	filter, users := provider.Filter{Replaced: true}, false
	if e.opts.Filter != nil {
		var err error
		if filter, users, err = e.caller.Filter(e.opts.Filter); err != nil {
			return fmt.Errorf("%s: %w", e.op, err)
		}
	}
	return e.find(ctx, filter, users)
}

// find adds all instances that match.
func (e *exporting) find(ctx context.Context, f provider.Filter, users bool) error {
	req := provider.ListRequest{Filter: f, Max: provider.MaxPage, Omit: []provider.ListField{
		provider.ListAttributes, provider.ListCustomStatus, provider.ListBlockedMessage,
	}}
	for {
		page, err := e.caller.Store.Page(ctx, e.op, req, users)
		if err != nil {
			return access.Explain(e.op, 0, err)
		}
		for i := range page.Instances {
			e.add(&page.Instances[i])
		}
		if req.Cursor = page.Cursor; req.Cursor == "" {
			return nil
		}
	}
}

func (e *exporting) add(in *provider.Instance) {
	if e.known[in.Key] == nil {
		m := &member{id: in.ID, key: in.Key, ended: in.Status.Ended()}
		e.known[in.Key] = m
		e.list = append(e.list, m)
	}
}

// hold holds what was found and adds the families.
func (e *exporting) hold(ctx context.Context) error {
	for ; e.next < len(e.list); e.next++ {
		m := e.list[e.next]
		e.reportProgress("sealing", e.next, len(e.list))
		if !m.ended {
			if !e.opts.Seal {
				return fmt.Errorf("%s: instance %q: %w: seal it, so that it moves and does not run twice", e.op, m.id, client.ErrRunning)
			}
			if err := e.seal(ctx, m, provider.SealHeld); err != nil {
				return err
			}
		}
		if err := e.find(ctx, provider.Filter{ParentKey: m.key, Replaced: true}, false); err != nil {
			return err
		}
		got, err := e.caller.Store.Instance(ctx, access.Target{Key: m.key}, e.op, false)
		if errors.Is(err, client.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if parent := got.Instance.Parent.Key; !parent.IsZero() && e.known[parent] == nil {
			up, err := e.caller.Store.Instance(ctx, access.Target{Key: parent}, e.op, false)
			if err == nil {
				e.add(&up.Instance)
			} else if !errors.Is(err, client.ErrNotFound) {
				return err
			}
		}
	}
	return nil
}

// seal brings one instance to a seal. One that ends meanwhile is copied.
func (e *exporting) seal(ctx context.Context, m *member, to provider.SealState) error {
	req := provider.SealRequest{
		Key: m.key, Transfer: e.transfer, To: to, Commit: provider.UUID(uuid.New()), Again: e.opts.Again && to == provider.SealHeld,
	}
	_, err := e.caller.Store.Write(ctx, e.op, func(ctx context.Context) error {
		_, err := e.mover.Seal(ctx, req)
		return err
	})
	switch {
	case errors.Is(err, provider.ErrEnded):
		m.ended = true
		return nil
	case errors.Is(err, provider.ErrMoved):
		return fmt.Errorf("%s: instance %q: %w: an earlier export has sealed it; repeat that one with Again only if its file was not imported", e.op, m.id, err)
	case err != nil:
		return fmt.Errorf("%s: instance %q: %w", e.op, m.id, err)
	}
	return nil
}

// close closes what is held, so that nothing reaches it any more.
func (e *exporting) close(ctx context.Context) error {
	for n, m := range e.list {
		e.reportProgress("sealing", n, len(e.list))
		if m.ended {
			continue
		}
		if err := e.seal(ctx, m, provider.SealClosed); err != nil {
			return err
		}
	}
	return nil
}
