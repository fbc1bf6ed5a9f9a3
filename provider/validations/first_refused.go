package validations

import (
	"time"

	"github.com/perdure/perdure/provider"
)

// checkNothingStored calls Create with a request of fully and checks that nothing of its first turn is stored.
func checkNothingStored(t *trial, req provider.CreateRequest, want error) (res provider.CreateResult) {
	to := t.byID("to")
	t.unchanged(to.Key, func() {
		var err error
		res, err = t.Create(t.ctx, req)
		if want != nil {
			t.want(err, want)
			t.checkf(provider.OutcomeOf(err) == provider.OutcomeNothing, "error %v has outcome %s, want %s", err, provider.OutcomeOf(err), provider.OutcomeNothing)
		} else {
			t.ok(err)
		}
	})
	t.checkf(!res.Begun, "Begun is true, want false")
	t.noTask("nothing of the turn is stored")
	t.checkf(!exists(t, "child of "+req.ID), "the child of the refused turn exists")
	_, err := t.ReadHistory(t.ctx, provider.ReadHistoryRequest{Key: req.Key, From: 1})
	t.want(err, provider.ErrNotFound)
	return res
}

// Create leaves an instance that it finds as it is, whatever the policy.
func firstExisting(t *trial) {
	t.begin("to")
	old := t.begin("i")
	for policy, want := range map[provider.IDPolicy]error{
		provider.IDReject: provider.ErrExists, provider.IDUseExisting: nil, provider.IDReplaceEnded: provider.ErrExists,
	} {
		t.unchanged(old.Key, func() {
			res := checkNothingStored(t, fully(func(r *provider.CreateRequest) { r.Policy = policy }), want)
			t.checkf(!res.Created && (want != nil || res.Instance.Key == old.Key), "policy %d returned %+v, want the stored instance, not created", policy, res)
		})
	}
}

// A refused start stores nothing of its turn.
func firstRefused(t *trial) {
	t.begin("to")
	checkNothingStored(t, fully(func(r *provider.CreateRequest) {
		r.Parent = provider.Parent{Key: unique(), ID: "gone", Execution: 1, EventID: 1}
	}), provider.ErrNotFound)
	t.checkf(!exists(t, "i"), "the refused start created the instance")
}

// checkFirstRefused checks that Create returns want for each change of a first turn, and stores nothing.
func checkFirstRefused(t *trial, want error, wrongs map[string]func(*provider.CreateRequest)) {
	t.begin("to")
	for what, wrong := range wrongs {
		checkNothingStored(t, fully(wrong), want)
		t.checkf(!exists(t, "i"), "a first turn %s created the instance", what)
	}
}

func firstTooLarge(t *trial) {
	big := make([]byte, provider.MaxPayload+1)
	checkFirstRefused(t, provider.ErrTooLarge, map[string]func(*provider.CreateRequest){
		"with a large event": func(r *provider.CreateRequest) { r.First.Events[1] = big },
		"with many events":   func(r *provider.CreateRequest) { r.First.Events = make([][]byte, provider.MaxCommitRows+1) },
		"with a large task":  func(r *provider.CreateRequest) { r.First.Tasks[1].Payload = big },
		"with large events": func(r *provider.CreateRequest) {
			for range provider.MaxCommitBytes/len(big) + 1 {
				r.First.Events = append(r.First.Events, big[1:])
			}
		},
	})
}

func firstFits(t *trial) {
	checkFirstRefused(t, provider.ErrInvalid, map[string]func(*provider.CreateRequest){
		"of another instance":    func(r *provider.CreateRequest) { r.First.Key = unique() },
		"of another version":     func(r *provider.CreateRequest) { r.First.Expected = unique() },
		"of another execution":   func(r *provider.CreateRequest) { r.First.Execution = 2 },
		"of another length":      func(r *provider.CreateRequest) { r.First.Length = 1 },
		"without a version":      func(r *provider.CreateRequest) { r.First.Commit = provider.UUID{} },
		"with the first version": func(r *provider.CreateRequest) { r.First.Commit = r.Commit },
		"with a lease":           func(r *provider.CreateRequest) { r.First.Lease = unique() },
		"with a completion": func(r *provider.CreateRequest) {
			r.First.Completes = []provider.TaskCompletion{{EventID: 1, Token: unique()}}
		},
		"that has consumed": func(r *provider.CreateRequest) { r.First.Consumed = []int64{1} },
		"that ends":         func(r *provider.CreateRequest) { r.First.Status = provider.StatusCompleted },
		"that continues":    func(r *provider.CreateRequest) { r.First.Next = &provider.NextExecution{} },
		"of a later start":  func(r *provider.CreateRequest) { r.Message.Delay = time.Nanosecond },
		"with a task twice": func(r *provider.CreateRequest) { r.First.Tasks = append(r.First.Tasks, r.First.Tasks[0]) },
	})
}

// startFirst checks that the first turn of a child is fetched.
func startFirst(t *trial) {
	i := t.begin("i")
	start := startOf(i, "child")
	start.Create.First = firstTurn(start.Create)
	req := next(i)
	req.Starts = []provider.Start{start}
	t.refused(req, provider.ErrInvalid)
	t.checkf(!exists(t, "child"), "the refused commit started the child")
}
