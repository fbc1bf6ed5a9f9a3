package validations

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/perdure/perdure/provider"
)

func brokenClean() []brokenRule {
	return []brokenRule{
		{name: "a history outlives its instance", caught: "clean/delete-ended", breaks: keepsHistories},
		{name: "a running instance is deleted unforced", caught: "clean/delete-running", breaks: deletesRunning},
		{name: "deleting an unknown instance succeeds", caught: "clean/delete-unknown", breaks: deletesUnknown},
		{name: "deleted children are not counted", caught: "clean/delete-cascades", breaks: countsTheRootOnly},
		{name: "a child of a deleted parent is created", caught: "clean/no-child-of-a-deleted-parent", breaks: createsOrphans},
		{name: "a child that is started during a delete outlives it", caught: "clean/delete-races-with-children", racing: true, breaks: missesNewborn},
		{name: "the youngest is pruned first", caught: "clean/prune", breaks: prunesTheYoungest},
		{name: "a prune ignores the age", caught: "clean/prune-keeps-young", breaks: prunes(forgetsAge)},
		{name: "a prune takes 999 at most", caught: "clean/prune-default", breaks: prunes(prunesLess)},
		{name: "a child is pruned alone", caught: "clean/prune-cascades", breaks: prunesChildren},
		{name: "a child stays until its parent ends", caught: "clean/prune-of-left-executions", breaks: prunesNoChildren},
		{name: "a prune ignores statuses", caught: "clean/prune-chosen", breaks: prunes(forgetsStatuses)},
		{name: "a prune removes what ExceptNames names", caught: "clean/prune-except", breaks: prunes(forgetsExcept)},
		{name: "a prune removes what it should spare", caught: "clean/prune-spares", breaks: prunes(forgetsSpare)},
		{name: "a prune removes a parent of what it should spare", caught: "clean/prune-spares", breaks: prunes(sparesRootsOnly)},
		{name: "a prune does not say that more is left", caught: "clean/prune-cursor", breaks: prunesWithoutCursor},
		{name: "a prune begins anew in spite of its cursor", caught: "clean/prune-cursor", breaks: prunes(prunesFromTheBeginning)},
		{name: "a look at what to prune removes it", caught: "clean/prune-look", breaks: prunes(prunesAtALook)},
		{name: "a look at what to prune counts trees", caught: "clean/prune-look", breaks: countsTrees},
		{name: "a look at what to trim removes it", caught: "clean/trim-look", breaks: trims(trimsAtALook)},
		{name: "a look at what to trim begins anew in spite of its cursor", caught: "clean/trim-look", breaks: trims(looksFromTheBeginning)},
		{name: "a trim removes one too many", caught: "clean/trim-keeps", breaks: trims(keepsOneLess)},
		{name: "a trim ignores the age", caught: "clean/trim-young", breaks: trims(trimsAnyAge)},
		{name: "a trim takes one less", caught: "clean/trim", breaks: trims(trimsLess)},
		{name: "a trim takes nothing of the ended", caught: "clean/trim-ended", breaks: trimsOnlyRunning},
		{name: "a trim begins anew in spite of its cursor", caught: "clean/trim-cursor", breaks: trims(trimsFromTheBeginning)},
		{name: "a trimmed execution reads as empty", caught: "clean/trim-gone", breaks: readsTrimmed, wide: true},
		{name: "a trim takes a younger execution first", caught: "clean/trim-order", breaks: trimsTheYoungest},
		{name: "unknown dead letters are discarded", caught: "clean/letters-discard", breaks: discardsNothing},
		{name: "letters of all instances are listed", caught: "clean/letters-of-an-instance", breaks: listsAllLetters},
		{name: "an instance has no dead letters", caught: "clean/letters-counted", breaks: countsNoLetters},
		{name: "a redriven letter loses its kind", caught: "clean/letters-redrive", breaks: redrivesAnew},
		{name: "a deleted instance counts as ended", caught: "clean/delete-refuses-at-once", breaks: endsDeleted},
		{name: "a delete removes the successor under the ID", caught: "clean/delete-keeps-the-id", racing: true, breaks: deletesByID},
		{name: "a cancelled delete is never finished", caught: "clean/delete-resumes", racing: true, breaks: givesUpDeleting},
	}
}

type (
	deleteMethod  = method[provider.DeleteRequest, provider.DeleteResult]
	pruneMethod   = method[provider.PruneRequest, provider.PruneResult]
	lettersMethod = method[provider.DeadLettersRequest, provider.DeadLettersResult]
)

// prunes changes the requests of Prune.
func prunes(change func(*provider.PruneRequest)) func(*mutant) {
	return func(m *mutant) { m.prune.before(change) }
}

func keepsHistories(m *mutant) {
	var old sync.Map
	m.remove.before(func(req *provider.DeleteRequest) {
		if i := m.stored(context.Background(), req.Key); i.Status.Ended() {
			old.Store(req.Key, true)
		}
	})
	m.history.after(func(req provider.ReadHistoryRequest, _ *provider.ReadHistoryResult, err *error) {
		if _, ok := old.Load(req.Key); ok && errors.Is(*err, provider.ErrNotFound) {
			*err = nil
		}
	})
}

// deletesRunning checks only whether an instance has begun.
func deletesRunning(m *mutant) {
	m.remove.before(func(req *provider.DeleteRequest) {
		req.Force = req.Force || m.byID(context.Background(), req.ID).HistoryLength > 0
	})
}

func deletesUnknown(m *mutant) {
	m.remove.after(func(_ provider.DeleteRequest, _ *provider.DeleteResult, err *error) {
		if errors.Is(*err, provider.ErrNotFound) {
			*err = nil
		}
	})
}

func countsTheRootOnly(m *mutant) {
	m.remove.after(func(_ provider.DeleteRequest, res *provider.DeleteResult, _ *error) {
		res.Instances = min(res.Instances, 1)
	})
}

func createsOrphans(m *mutant) {
	m.create.before(func(req *provider.CreateRequest) {
		if m.stored(context.Background(), req.Parent.Key).Key.IsZero() {
			req.Parent = provider.Parent{}
		}
	})
}

// missesNewborn lists the rows to delete and then waits.
func missesNewborn(m *mutant) {
	var deleting atomic.Bool
	m.remove.around(func(ctx context.Context, req provider.DeleteRequest, remove deleteMethod) (provider.DeleteResult, error) {
		deleting.Store(true)
		window()
		defer deleting.Store(false)
		return remove(ctx, req)
	})
	m.commit.before(func(req *provider.CommitTurnRequest) {
		if !deleting.Load() {
			return
		}
		req.Starts = slices.Clone(req.Starts)
		for n := range req.Starts {
			req.Starts[n].Create.Parent = provider.Parent{}
		}
	})
}

// ended lists the ended instances, the last to end first.
func (m *mutant) ended(ctx context.Context) []provider.Instance {
	res, _ := m.Provider.List(ctx, provider.ListRequest{})
	list := slices.DeleteFunc(res.Instances, func(i provider.Instance) bool { return !i.Status.Ended() })
	slices.SortFunc(list, func(a, b provider.Instance) int { return cmp.Compare(b.EndedAt, a.EndedAt) })
	return list
}

func prunesTheYoungest(m *mutant) {
	m.prune.around(func(ctx context.Context, req provider.PruneRequest, prune pruneMethod) (provider.PruneResult, error) {
		list := m.ended(ctx)
		if req.Max != 1 || len(list) == 0 {
			return prune(ctx, req)
		}
		res, err := m.Provider.Delete(ctx, provider.DeleteRequest{Key: list[0].Key})
		return provider.PruneResult{Instances: res.Instances}, err
	})
}

func forgetsAge(req *provider.PruneRequest) { req.Age = min(req.Age, 0) }

func prunesLess(req *provider.PruneRequest) {
	if req.Max == 0 {
		req.Max = 999
	}
}

// prunesNoChildren prunes nothing while a parent runs.
func prunesNoChildren(m *mutant) {
	m.prune.around(func(ctx context.Context, req provider.PruneRequest, prune pruneMethod) (provider.PruneResult, error) {
		list, _ := m.Provider.List(ctx, provider.ListRequest{})
		for _, child := range list.Instances {
			if child.Status.Ended() && m.stored(ctx, child.Parent.Key).Status == provider.StatusRunning {
				return provider.PruneResult{}, nil
			}
		}
		return prune(ctx, req)
	})
}

func forgetsStatuses(req *provider.PruneRequest) { req.Statuses = nil }

func prunesChildren(m *mutant) {
	m.prune.around(func(ctx context.Context, req provider.PruneRequest, prune pruneMethod) (provider.PruneResult, error) {
		res, err := prune(ctx, req)
		for _, i := range m.ended(ctx) {
			if err == nil && !i.Parent.Key.IsZero() {
				more, _ := m.Provider.Delete(ctx, provider.DeleteRequest{Key: i.Key})
				res.Instances += more.Instances
			}
		}
		return res, err
	})
}

func discardsNothing(m *mutant) {
	m.letters.after(func(req provider.DeadLettersRequest, res *provider.DeadLettersResult, _ *error) {
		if req.Action == provider.DeadLettersDiscard {
			res.Done = int64(len(req.IDs))
		}
	})
}

// redrivesAnew sends the payload of a letter as a new message.
func redrivesAnew(m *mutant) {
	m.letters.around(func(ctx context.Context, req provider.DeadLettersRequest, letters lettersMethod) (provider.DeadLettersResult, error) {
		all, _ := m.Provider.DeadLetters(ctx, provider.DeadLettersRequest{})
		n := slices.IndexFunc(all.Letters, func(l provider.DeadLetter) bool { return slices.Contains(req.IDs, l.ID) && !l.Task })
		if req.Action != provider.DeadLettersRedrive || n < 0 {
			return letters(ctx, req)
		}
		l := all.Letters[n]
		_, err := m.Provider.Send(ctx, provider.SendRequest{Key: l.Key, Message: provider.NewMessage{Payload: l.Payload}})
		if err == nil {
			req.Action = provider.DeadLettersDiscard
		}
		return letters(ctx, req)
	})
}

func endsDeleted(m *mutant) {
	var deleted sync.Map
	m.remove.after(func(req provider.DeleteRequest, _ *provider.DeleteResult, err *error) {
		if *err == nil {
			deleted.Store(req.Key, true)
		}
	})
	m.send.after(func(req provider.SendRequest, _ *provider.SendResult, err *error) {
		if _, ok := deleted.Load(req.Key); ok && errors.Is(*err, provider.ErrNotFound) {
			*err = provider.ErrEnded
		}
	})
}

// deletesByID looks up the ID again before it deletes.
func deletesByID(m *mutant) {
	m.remove.around(func(ctx context.Context, req provider.DeleteRequest, remove deleteMethod) (provider.DeleteResult, error) {
		i := m.stored(ctx, req.Key)
		current := m.byID(ctx, i.ID).Key == i.Key
		res, err := remove(ctx, req)
		m.dawdle(ctx)
		if err == nil && !i.Key.IsZero() && current {
			_, _ = m.Provider.Delete(ctx, provider.DeleteRequest{ID: i.ID, Force: true})
		}
		return res, err
	})
}

func givesUpDeleting(m *mutant) {
	var given sync.Map
	m.remove.around(func(ctx context.Context, req provider.DeleteRequest, remove deleteMethod) (provider.DeleteResult, error) {
		window()
		if _, ok := given.Load(req.Key); ok {
			return provider.DeleteResult{}, provider.ErrNotFound
		}
		if err := ctx.Err(); err != nil {
			given.Store(req.Key, true)
			return provider.DeleteResult{}, err
		}
		return remove(ctx, req)
	})
}

func listsAllLetters(m *mutant) {
	m.letters.before(func(req *provider.DeadLettersRequest) { req.Key = provider.UUID{} })
}

func countsNoLetters(m *mutant) {
	m.get.after(func(_ provider.GetRequest, res *provider.GetResult, _ *error) { res.DeadLetters = 0 })
}
