package validations

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/perdure/perdure/provider"
)

func brokenCreate() []brokenRule {
	return []brokenRule{
		{name: "a new instance does not count its start message", caught: "create/stores", breaks: created(countsNoStart)},
		{name: "a delayed start is ready at once", caught: "create/delayed-start", breaks: created(isReadyAtOnce)},
		{name: "a refused create names the key it brought", caught: "create/reject", breaks: namesNewKey},
		{name: "using an existing instance returns Created", caught: "create/use-existing", breaks: created(createsWhatExists)},
		{name: "an ID goes on naming the instance that was replaced", caught: "create/replace-ended", breaks: findsReplaced},
		{name: "replacing a running instance answers that one", caught: "create/replace-running", breaks: replacesNothing},
		{name: "a create replaces whichever instance has the ID", caught: "create/replace-that-one", breaks: replacesAny},
		{name: "the history of a replaced instance is gone", caught: "create/replaced-is-readable", breaks: hidesReplacedHistory},
		{name: "a create ignores the request ID", caught: "create/repeated-request", breaks: forgetsRequest},
		{name: "an ID is looked up before the lock", caught: "create/race", racing: true, breaks: looksUpEarly},
		{name: "a request is looked up before the lock", caught: "create/race-of-one-request", racing: true, breaks: looksForRequestEarly},
		{name: "a message to an unknown ID inserts an instance", caught: "create/only-create-inserts", breaks: insertsReceivers},
		{name: "IDs are compared without case", caught: "create/names-by-bytes", breaks: foldsCase},
	}
}

// created changes the results of Create.
func created(change func(req provider.CreateRequest, res *provider.CreateResult)) func(*mutant) {
	return func(m *mutant) {
		m.create.after(func(req provider.CreateRequest, res *provider.CreateResult, err *error) {
			if *err == nil {
				change(req, res)
			}
		})
	}
}

func countsNoStart(_ provider.CreateRequest, res *provider.CreateResult) {
	res.Instance.InboxMessages = 0
}

func isReadyAtOnce(_ provider.CreateRequest, res *provider.CreateResult) {
	res.Instance.ReadyAt = res.Instance.CreatedAt
}

func createsWhatExists(req provider.CreateRequest, res *provider.CreateResult) {
	res.Created = res.Created || req.Policy == provider.IDUseExisting
}

func replacesAny(m *mutant) {
	m.create.before(func(req *provider.CreateRequest) { req.Replaces = provider.UUID{} })
}

func namesNewKey(m *mutant) {
	m.create.after(func(req provider.CreateRequest, _ *provider.CreateResult, err *error) {
		if exists, ok := errors.AsType[*provider.ExistsError](*err); ok {
			exists.Key = req.Key
		}
	})
}

// byID returns the instance under the ID.
func (m *mutant) byID(ctx context.Context, id string) provider.Instance {
	res, _ := m.Provider.Get(ctx, provider.GetRequest{ID: id})
	return res.Instance
}

// replaced collects the instances that creates replace, by ID.
func (m *mutant) replaced() *sync.Map {
	var olds sync.Map
	m.create.around(func(ctx context.Context, req provider.CreateRequest, create createMethod) (provider.CreateResult, error) {
		old := m.byID(ctx, req.ID)
		res, err := create(ctx, req)
		if err == nil && req.Policy == provider.IDReplaceEnded && !old.Key.IsZero() {
			olds.Store(req.ID, old.Key)
		}
		return res, err
	})
	return &olds
}

func findsReplaced(m *mutant) {
	olds := m.replaced()
	m.get.before(func(req *provider.GetRequest) {
		old, _ := olds.Load(req.ID)
		if key, ok := old.(provider.UUID); ok && req.Key.IsZero() && m.stored(context.Background(), key).Key == key {
			req.Key = key
		}
	})
}

func replacesNothing(m *mutant) {
	m.create.around(func(ctx context.Context, req provider.CreateRequest, create createMethod) (provider.CreateResult, error) {
		res, err := create(ctx, req)
		if errors.Is(err, provider.ErrExists) && req.Policy == provider.IDReplaceEnded {
			return provider.CreateResult{Instance: m.byID(ctx, req.ID), Now: res.Now}, nil
		}
		return res, err
	})
}

func hidesReplacedHistory(m *mutant) {
	olds := m.replaced()
	m.history.after(func(req provider.ReadHistoryRequest, res *provider.ReadHistoryResult, err *error) {
		olds.Range(func(_, old any) bool {
			if old == req.Key && req.Execution == 1 {
				*res, *err = provider.ReadHistoryResult{}, provider.ErrNotFound
			}
			return true
		})
	})
}

func forgetsRequest(m *mutant) {
	m.create.before(func(req *provider.CreateRequest) { req.RequestID = "" })
}

func looksUpEarly(m *mutant) {
	m.create.around(func(ctx context.Context, req provider.CreateRequest, create createMethod) (provider.CreateResult, error) {
		free := m.byID(ctx, req.ID).Key.IsZero()
		window()
		res, err := create(ctx, req)
		if free && errors.Is(err, provider.ErrExists) {
			return provider.CreateResult{Instance: m.byID(ctx, req.ID), Created: true}, nil
		}
		return res, err
	})
}

func looksForRequestEarly(m *mutant) {
	m.create.around(func(ctx context.Context, req provider.CreateRequest, create createMethod) (provider.CreateResult, error) {
		free := m.byID(ctx, req.ID).Key.IsZero()
		window()
		res, err := create(ctx, req)
		if free && err == nil && res.Instance.Key != req.Key {
			return provider.CreateResult{}, &provider.ExistsError{ID: req.ID, Key: res.Instance.Key, Status: res.Instance.Status}
		}
		return res, err
	})
}

func insertsReceivers(m *mutant) {
	m.send.around(func(ctx context.Context, req provider.SendRequest, send sendMethod) (provider.SendResult, error) {
		res, err := send(ctx, req)
		if errors.Is(err, provider.ErrNotFound) && req.Key.IsZero() {
			_, _ = m.Provider.Create(ctx, createRequest(req.ID))
		}
		return res, err
	})
}

func foldsCase(m *mutant) {
	m.get.before(func(req *provider.GetRequest) { req.ID = strings.ToLower(req.ID) })
}
