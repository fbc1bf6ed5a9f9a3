package validations

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/perdure/perdure/provider"
)

func brokenMovers() []brokenRule {
	return []brokenRule{
		{name: "a held instance shows as running", caught: "mover/hold", breaks: seals(showsRunning)},
		{name: "a held instance keeps its delivery", caught: "mover/hold-ends-the-turn", breaks: keepsDelivery},
		{name: "a held instance loses heartbeat details", caught: "mover/hold-ends-leases", breaks: losesHeldDetails},
		{name: "holding voids parked tokens", caught: "mover/hold-keeps-parked", breaks: voidsParked},
		{name: "a held instance takes no messages", caught: "mover/hold-accepts", breaks: sendsRefused(provider.SealHeld)},
		{name: "a held instance can be steered", caught: "mover/hold-refuses-steering", breaks: steersHeld},
		{name: "a freed instance runs although it was suspended", caught: "mover/hold-the-suspended", breaks: resumesAll},
		{name: "an ended instance can be held", caught: "mover/hold-the-ended", breaks: forgives(provider.ErrEnded)},
		{name: "a second transfer is refused although it says again", caught: "mover/hold-again", breaks: func(m *mutant) {
			m.seal.before(func(req *provider.SealRequest) { req.Again = false })
		}},
		{name: "a closed instance is only missing", caught: "mover/close-refuses", breaks: hidesMove},
		{name: "a closed instance gets children", caught: "mover/close-takes-no-sends", breaks: orphans},
		{name: "a deletion after a move tells the listener", caught: "mover/close-tells-nobody", breaks: tellsAfterMove},
		{name: "a step of a free instance is refused as moved", caught: "mover/steps", breaks: swapsRefusal},
		{name: "a repeated seal is refused", caught: "mover/steps-repeated", breaks: sealsOnce},
		{name: "an instance runs again unasked", caught: "mover/back", breaks: func(m *mutant) {
			m.seal.before(func(req *provider.SealRequest) { req.Back = true })
		}},
		{name: "a reopened instance takes no messages", caught: "mover/reopen", breaks: staysClosed},
		{name: "a seal is missing in the list", caught: "mover/seals", breaks: func(m *mutant) {
			m.seals.after(func(_ provider.SealsRequest, res *provider.SealsResult, _ *error) {
				res.Seals = res.Seals[:min(1, len(res.Seals))]
			})
		}},
		{name: "a full last page of seals has a cursor", caught: "mover/seals", breaks: func(m *mutant) {
			m.seals.after(func(req provider.SealsRequest, res *provider.SealsResult, _ *error) {
				if n := len(res.Seals); n > 0 && n == req.Max {
					res.Cursor = res.Seals[n-1].Key.String()
				}
			})
		}},
		{name: "an instance that runs is exported", caught: "mover/export-only-closed", breaks: func(m *mutant) {
			m.export.after(func(_ provider.ExportRequest, _ *provider.ExportResult, err *error) {
				forgive(err, provider.ErrConflict)
			})
		}},
		{name: "an export writes", caught: "mover/export-changes-nothing", breaks: exportWrites},
		{name: "an export has one page", caught: "mover/export-pages", breaks: func(m *mutant) {
			m.export.before(func(req *provider.ExportRequest) { req.MaxBytes = 0 })
		}},
		{name: "an import loses values", caught: "mover/carry", breaks: func(m *mutant) {
			m.imports.before(func(req *provider.ImportRequest) { req.Parcel.Values = nil })
		}},
		{name: "an import forgets when executions ended", caught: "mover/carry-executions", breaks: forgetsExecutionEnds},
		{name: "an ended instance arrives with another status", caught: "mover/carry-ended", breaks: endsOtherwise},
		{name: "an arriving instance shows as closed", caught: "mover/import-arrives", breaks: importsEnd(func(res *provider.ImportResult) {
			res.Seal.State = provider.SealClosed
		})},
		{name: "a repeated page is refused", caught: "mover/import-repeated", breaks: importsOnce(func(n int) bool { return n > 0 }, provider.ErrConflict)},
		{name: "an import cannot begin again", caught: "mover/import-again", breaks: importsOnce(func(n int) bool { return n == 0 }, provider.ErrExists)},
		{name: "a page is missing", caught: "mover/import-a-gap", breaks: importForgives(provider.ErrConflict)},
		{name: "a finished import is not done", caught: "mover/import-done", breaks: importsEnd(func(res *provider.ImportResult) {
			res.Done = res.Done && res.Seal.State != provider.SealNone
		})},
		{name: "an import takes a key in use", caught: "mover/import-in-use", breaks: importForgives(provider.ErrExists)},
		{name: "an import replaces nothing", caught: "mover/import-replaces", breaks: func(m *mutant) {
			m.imports.before(func(req *provider.ImportRequest) { req.Replace = false })
		}},
		{name: "an import takes the time back", caught: "mover/import-early", breaks: importForgives(provider.ErrClockBehind)},
	}
}

// forgive turns a refusal into success.
func forgive(err *error, sentinel error) {
	if errors.Is(*err, sentinel) {
		*err = nil
	}
}

// seals changes the results of Seal.
func seals(change func(req provider.SealRequest, res *provider.SealResult)) func(*mutant) {
	return func(m *mutant) {
		m.seal.after(func(req provider.SealRequest, res *provider.SealResult, err *error) {
			if *err == nil {
				change(req, res)
			}
		})
	}
}

func forgives(sentinel error) func(*mutant) {
	return func(m *mutant) {
		m.seal.after(func(_ provider.SealRequest, _ *provider.SealResult, err *error) { forgive(err, sentinel) })
	}
}

func importForgives(sentinel error) func(*mutant) {
	return func(m *mutant) {
		m.imports.after(func(_ provider.ImportRequest, _ *provider.ImportResult, err *error) { forgive(err, sentinel) })
	}
}

func importsEnd(change func(*provider.ImportResult)) func(*mutant) {
	return func(m *mutant) {
		m.imports.after(func(_ provider.ImportRequest, res *provider.ImportResult, _ *error) { change(res) })
	}
}

// importsOnce refuses the second import of some pages.
func importsOnce(which func(number int) bool, sentinel error) func(*mutant) {
	return func(m *mutant) {
		var seen sync.Map
		m.imports.around(func(
			ctx context.Context, req provider.ImportRequest, inner method[provider.ImportRequest, provider.ImportResult],
		) (provider.ImportResult, error) {
			if _, again := seen.LoadOrStore(req.Number, true); again && which(req.Number) {
				return provider.ImportResult{}, sentinel
			}
			return inner(ctx, req)
		})
	}
}

// sealOf returns the seal of an instance in the correct store.
func (m *mutant) sealOf(ctx context.Context, key provider.UUID) provider.Seal {
	res, _ := m.Provider.Seals(ctx, provider.SealsRequest{Key: key})
	if len(res.Seals) == 0 {
		return provider.Seal{}
	}
	return res.Seals[0]
}

func showsRunning(req provider.SealRequest, res *provider.SealResult) {
	if req.To == provider.SealHeld {
		res.Instance.Status = provider.StatusRunning
	}
}

// marked returns the keys of the instances that were held.
func (m *mutant) marked() *sync.Map {
	var keys sync.Map
	m.seal.after(func(req provider.SealRequest, _ *provider.SealResult, _ *error) { keys.Store(req.Key, true) })
	return &keys
}

func keepsDelivery(m *mutant) {
	keys := m.marked()
	m.turns.after(func(_ provider.FetchTurnsRequest, res *provider.FetchTurnsResult, _ *error) {
		for n := range res.Turns {
			if _, held := keys.Load(res.Turns[n].Instance.Key); held {
				res.Turns[n].Instance.Deliveries++
			}
		}
	})
}

func losesHeldDetails(m *mutant) {
	keys := m.marked()
	m.get.after(func(_ provider.GetRequest, res *provider.GetResult, _ *error) {
		if _, held := keys.Load(res.Instance.Key); held {
			for n := range res.Tasks {
				res.Tasks[n].Details = nil
			}
		}
	})
}

func voidsParked(m *mutant) {
	m.seal.around(func(ctx context.Context, req provider.SealRequest, inner method[provider.SealRequest, provider.SealResult]) (provider.SealResult, error) {
		got, _ := m.Provider.Get(ctx, provider.GetRequest{Key: req.Key, WithTasks: true})
		for _, task := range got.Tasks {
			_, _ = m.steerer().SteerTask(ctx, provider.SteerTaskRequest{TaskRef: task.TaskRef, Attempt: task.Attempt, Action: provider.SteerTaskRetry})
		}
		return inner(ctx, req)
	})
}

// sendsRefused refuses messages to instances with a seal.
func sendsRefused(state provider.SealState) func(*mutant) {
	return func(m *mutant) {
		m.send.around(func(ctx context.Context, req provider.SendRequest, send method[provider.SendRequest, provider.SendResult]) (provider.SendResult, error) {
			if m.sealOf(ctx, req.Key).State == state {
				return provider.SendResult{}, provider.ErrMoved
			}
			return send(ctx, req)
		})
	}
}

func steersHeld(m *mutant) {
	m.steer.after(func(_ provider.SteerRequest, _ *provider.SteerResult, err *error) { forgive(err, provider.ErrMoved) })
}

func resumesAll(m *mutant) {
	seals(func(req provider.SealRequest, res *provider.SealResult) {
		if req.To == provider.SealNone {
			_, _ = m.Provider.Steer(context.Background(), provider.SteerRequest{Key: req.Key, Action: provider.SteerResume, Commit: unique()})
			res.Instance.Status = provider.StatusRunning
		}
	})(m)
}

func hidesMove(m *mutant) {
	m.send.after(func(_ provider.SendRequest, _ *provider.SendResult, err *error) {
		if errors.Is(*err, provider.ErrMoved) {
			*err = provider.ErrNotFound
		}
	})
}

func orphans(m *mutant) {
	m.create.before(func(req *provider.CreateRequest) {
		if m.sealOf(context.Background(), req.Parent.Key).State == provider.SealClosed && !req.Parent.Key.IsZero() {
			req.Parent = provider.Parent{}
		}
	})
}

func tellsAfterMove(m *mutant) {
	m.remove.around(func(
		ctx context.Context, req provider.DeleteRequest, inner method[provider.DeleteRequest, provider.DeleteResult],
	) (provider.DeleteResult, error) {
		if m.sealOf(ctx, req.Key).State == provider.SealClosed {
			_, _ = m.Provider.Send(ctx, provider.SendRequest{ID: "to", Message: text("ended")})
		}
		return inner(ctx, req)
	})
}

func swapsRefusal(m *mutant) {
	m.seal.after(func(_ provider.SealRequest, _ *provider.SealResult, err *error) {
		if errors.Is(*err, provider.ErrConflict) {
			*err = provider.ErrMoved
		}
	})
}

func sealsOnce(m *mutant) {
	var last sync.Map
	m.seal.around(func(ctx context.Context, req provider.SealRequest, inner method[provider.SealRequest, provider.SealResult]) (provider.SealResult, error) {
		if was, known := last.Swap(req.Key, req.To); known && was == req.To {
			return provider.SealResult{}, provider.ErrConflict
		}
		return inner(ctx, req)
	})
}

func staysClosed(m *mutant) {
	var closed sync.Map
	m.seal.after(func(req provider.SealRequest, _ *provider.SealResult, _ *error) {
		if req.To == provider.SealClosed {
			closed.Store(req.Key, true)
		}
	})
	m.send.around(func(ctx context.Context, req provider.SendRequest, send method[provider.SendRequest, provider.SendResult]) (provider.SendResult, error) {
		if _, was := closed.Load(req.Key); was {
			return provider.SendResult{}, provider.ErrMoved
		}
		return send(ctx, req)
	})
}

func exportWrites(m *mutant) {
	m.export.before(func(*provider.ExportRequest) {
		_, _ = m.Provider.Send(context.Background(), provider.SendRequest{ID: "parent", Message: text("noise")})
	})
}

func forgetsExecutionEnds(m *mutant) {
	m.imports.before(func(req *provider.ImportRequest) {
		if head := req.Parcel.Head; head != nil {
			other := *head
			other.Executions = slices.Clone(head.Executions)
			for n := range other.Executions {
				other.Executions[n].EndedAt = 0
			}
			req.Parcel.Head = &other
		}
	})
}

func endsOtherwise(m *mutant) {
	m.imports.before(func(req *provider.ImportRequest) {
		if head := req.Parcel.Head; head != nil && head.Instance.Status.Ended() {
			other := *head
			other.Executions = slices.Clone(head.Executions)
			other.Instance.Status = provider.StatusFailed
			req.Parcel.Head = &other
		}
	})
}
