package validations

import "github.com/perdure/perdure/provider"

func closing(i provider.Instance) provider.CommitTurnRequest {
	req := next(i, "over")
	req.Status, req.Result = provider.StatusCompleted, []byte("result")
	return req
}

// continueAsNew commits the end of the current execution and the start of the next.
func (t *trial) continueAsNew(i provider.Instance, changes ...func(*provider.CommitTurnRequest)) provider.Instance {
	req := next(i, "continued")
	req.Next = &provider.NextExecution{CodeVersion: i.CodeVersion, Events: [][]byte{[]byte("again")}}
	for _, change := range changes {
		change(&req)
	}
	t.commit(req)
	return t.get(i.Key)
}

// startOf starts a child of i.
func startOf(i provider.Instance, id string) provider.Start {
	create := createRequest(id)
	create.Parent = provider.Parent{Key: i.Key, ID: i.ID, Execution: i.Execution, EventID: 3, Close: provider.CloseCancel}
	return provider.Start{Create: create, Refused: text("refused")}
}

// beginFamily commits the start of children by a parent and returns the parent.
func beginFamily(t *trial, changes ...func(*provider.Start)) provider.Instance {
	i := t.begin("parent")
	req := next(i)
	for n, change := range changes {
		start := startOf(i, string(rune('a'+n)))
		change(&start)
		req.Starts = append(req.Starts, start)
	}
	t.commit(req)
	return t.get(i.Key)
}

func (t *trial) byID(id string) provider.Instance {
	res, err := t.Get(t.ctx, provider.GetRequest{ID: id})
	t.ok(err)
	return res.Instance
}

func (t *trial) gone(key provider.UUID) {
	_, err := t.Get(t.ctx, provider.GetRequest{Key: key})
	t.want(err, provider.ErrNotFound)
	_, err = t.ReadHistory(t.ctx, provider.ReadHistoryRequest{Key: key, From: 1})
	t.want(err, provider.ErrNotFound)
}

func (t *trial) remove(key provider.UUID, force bool) int64 {
	res, err := t.Delete(t.ctx, provider.DeleteRequest{Key: key, Force: force})
	t.ok(err)
	return res.Instances
}

func prune(t *trial, req provider.PruneRequest) int64 {
	res, err := t.Prune(t.ctx, req)
	t.ok(err)
	return res.Instances
}

func resetTo(words ...string) func(*provider.SteerRequest) {
	return func(r *provider.SteerRequest) {
		r.EngineLevel = 0
		for _, w := range words {
			r.Events = append(r.Events, []byte(w))
		}
	}
}

// letters lists all dead letters.
func (t *trial) letters() []provider.DeadLetter {
	res, err := t.DeadLetters(t.ctx, provider.DeadLettersRequest{})
	t.ok(err)
	return res.Letters
}

// lettersOf lists the dead letters of one instance; there must be one.
func (t *trial) lettersOf(key provider.UUID) []provider.DeadLetter {
	res, err := t.DeadLetters(t.ctx, provider.DeadLettersRequest{Key: key})
	t.ok(err)
	t.mustf(len(res.Letters) > 0, "the instance has no dead letters, want some")
	return res.Letters
}

func actOnLetters(t *trial, action provider.DeadLetterAction, ids ...int64) int64 {
	res, err := t.DeadLetters(t.ctx, provider.DeadLettersRequest{Action: action, IDs: ids})
	t.ok(err)
	return res.Done
}
