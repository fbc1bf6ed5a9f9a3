package validations

import (
	"strings"

	"github.com/perdure/perdure/provider"
)

const textsRefused = "Everything else is refused with [ErrInvalid]."

func createTextCases() []testCase {
	return []testCase{
		{name: "texts", run: func(t *trial) { checkTextsRefused(t, createTexts) }, rule: textsRefused},
		{
			name: "any-valid-text", run: textsKept, broad: true,
			rule: "Text. IDs, names and keys are valid UTF-8 without NUL, at most [MaxName] bytes, compared byte by byte.",
		},
	}
}

// textCases stores valid and invalid texts in every field that holds one.
func textCases() []testCase {
	return []testCase{
		{name: "of-instances", run: func(t *trial) { checkTextsRefused(t, instanceTexts) }, rule: textsRefused},
		{name: "of-commits", run: func(t *trial) { checkTextsRefused(t, commitTexts) }, rule: textsRefused},
		{name: "of-fetches-and-reports", run: func(t *trial) { checkTextsRefused(t, nodeTexts) }, rule: textsRefused},
		{name: "of-reads", run: func(t *trial) { checkTextsRefused(t, readTexts) }, rule: textsRefused},
	}
}

// checkTextsRefused makes calls with one invalid text each. All are refused and change nothing.
func checkTextsRefused(t *trial, calls func(t *trial, i provider.Instance, text string) map[string]error) {
	i := t.beginTasks(newTask(1))
	for _, bad := range []string{"a\x00b", "a\xff", "\xed\xa0\x80", strings.Repeat("x", provider.MaxName+1)} {
		t.unchanged(i.Key, func() {
			for field, err := range calls(t, i, bad) {
				t.checkf(provider.OutcomeOf(err) == provider.OutcomeNothing, "%s %.20q: error %v, want one with outcome nothing", field, bad, err)
				if err == nil {
					t.errorf("%s %.20q was accepted, want ErrInvalid", field, bad)
					continue
				}
				t.want(err, provider.ErrInvalid)
			}
		})
	}
	n, err := t.Count(t.ctx, provider.CountRequest{})
	t.ok(err)
	t.checkf(n.Count == 1, "%d instances, want 1", n.Count)
}

func createTexts(t *trial, i provider.Instance, word string) map[string]error {
	create := func(change func(*provider.CreateRequest)) error {
		req := createRequest(fresh())
		change(&req)
		_, err := t.Create(t.ctx, req)
		return err
	}
	_, get := t.Get(t.ctx, provider.GetRequest{ID: word})
	return map[string]error{
		"ID to get":    get,
		"ID":           create(func(r *provider.CreateRequest) { r.ID = word }),
		"name":         create(func(r *provider.CreateRequest) { r.Name = word }),
		"code version": create(func(r *provider.CreateRequest) { r.CodeVersion = word }),
		"request ID":   create(func(r *provider.CreateRequest) { r.RequestID = word }),
		"parent": create(func(r *provider.CreateRequest) {
			r.Parent = provider.Parent{Key: i.Key, ID: word, Execution: 1, EventID: 1}
		}),
		"attribute": create(func(r *provider.CreateRequest) {
			r.Attributes = []provider.Attribute{{Name: word, Kind: provider.AttributeInt}}
		}),
		"text attribute": create(func(r *provider.CreateRequest) {
			r.Attributes = []provider.Attribute{{Name: "a", Kind: provider.AttributeText, Text: word}}
		}),
	}
}

func instanceTexts(t *trial, _ provider.Instance, word string) map[string]error {
	_, steer := t.Steer(t.ctx, provider.SteerRequest{ID: word, Action: provider.SteerSuspend, Commit: unique()})
	_, ask := t.Ask(t.ctx, provider.AskRequest{ID: word, AskID: unique(), Wait: short})
	_, remove := t.Delete(t.ctx, provider.DeleteRequest{ID: word})
	return map[string]error{"steer": steer, "ask": ask, "delete": remove}
}

func commitTexts(t *trial, i provider.Instance, word string) map[string]error {
	commit := func(change func(*provider.CommitTurnRequest)) error {
		req := rich(i)
		change(&req)
		_, err := t.CommitTurn(t.ctx, req)
		return err
	}
	task := func(change func(*provider.NewTask)) error {
		return commit(func(r *provider.CommitTurnRequest) { change(&r.Tasks[0]) })
	}
	return map[string]error{
		"queue":        task(func(n *provider.NewTask) { n.Queue = word }),
		"activity":     task(func(n *provider.NewTask) { n.Name = word }),
		"fairness key": task(func(n *provider.NewTask) { n.FairnessKey = word }),
		"session":      task(func(n *provider.NewTask) { n.Session = word }),
		"limit key":    task(func(n *provider.NewTask) { n.LimitKey = word }),
		"lease owner": task(func(n *provider.NewTask) {
			n.Lease = &provider.TaskLease{Token: unique(), Owner: word, Duration: long}
		}),
		"owner":          commit(func(r *provider.CommitTurnRequest) { r.Owner, r.Sticky = word, short }),
		"key of a value": commit(func(r *provider.CommitTurnRequest) { r.Values[0].Key = word }),
		"attribute":      commit(func(r *provider.CommitTurnRequest) { r.Attributes[0].Name = word }),
		"text attribute": commit(func(r *provider.CommitTurnRequest) { r.Attributes[0].Text = word }),
		"ID to send to":  commit(func(r *provider.CommitTurnRequest) { r.Sends = []provider.OutMessage{{ID: word}} }),
		"ID of a child":  commit(func(r *provider.CommitTurnRequest) { r.Starts = []provider.Start{startOf(i, word)} }),
		"name of the next execution": commit(func(r *provider.CommitTurnRequest) {
			r.Next = &provider.NextExecution{Name: word}
		}),
		"version of the next execution": commit(func(r *provider.CommitTurnRequest) {
			r.Next = &provider.NextExecution{CodeVersion: word}
		}),
		"reason to close the inbox": commit(func(r *provider.CommitTurnRequest) {
			r.Status, r.CloseInbox = provider.StatusCompleted, word
		}),
	}
}

func nodeTexts(t *trial, i provider.Instance, word string) map[string]error {
	turns := func(change func(*provider.FetchTurnsRequest)) error {
		req := fetchRequest()
		change(&req)
		_, err := t.FetchTurns(t.ctx, req)
		return err
	}
	tasks := func(change func(*provider.FetchTasksRequest)) error {
		req := fetchTasksRequest()
		change(&req)
		_, err := t.FetchTasks(t.ctx, req)
		return err
	}
	_, release := t.ReleaseTurns(t.ctx, provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{{
		Key: i.Key, Token: unique(), Kind: provider.ReleaseFailed, Failure: &provider.TurnFailure{Reason: word},
	}}})
	_, poison := t.ReportTasks(t.ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{{
		TaskRef: ref(i, 1), Token: unique(), Attempt: 1, Outcome: provider.TaskPoison, Reason: word,
	}}})
	_, asks := t.FetchAsks(t.ctx, provider.FetchAsksRequest{Max: 1, Lease: long, Capabilities: []provider.Capability{{Name: word}}})
	return map[string]error{
		"owner of turns":          turns(func(r *provider.FetchTurnsRequest) { r.Owner = word }),
		"capability":              turns(func(r *provider.FetchTurnsRequest) { r.Capabilities[0].Name = word }),
		"version":                 turns(func(r *provider.FetchTurnsRequest) { r.Capabilities[0].CodeVersion = word }),
		"owner of tasks":          tasks(func(r *provider.FetchTasksRequest) { r.Owner = word }),
		"queue":                   tasks(func(r *provider.FetchTasksRequest) { r.Queues[0].Queue = word }),
		"activity":                tasks(func(r *provider.FetchTasksRequest) { r.Queues[0].Names[0] = word }),
		"reason of a failed turn": release, "reason of a poisoned task": poison, "capability to answer": asks,
	}
}

func readTexts(t *trial, _ provider.Instance, word string) map[string]error {
	_, prefix := t.List(t.ctx, provider.ListRequest{Filter: provider.Filter{IDPrefix: word}})
	_, name := t.List(t.ctx, provider.ListRequest{Filter: provider.Filter{Name: word}})
	count := func(filter provider.Filter) error {
		_, err := t.Count(t.ctx, provider.CountRequest{Filter: filter})
		return err
	}
	lease := func(change func(*provider.LeaseRequest)) error {
		req := acquire("a")
		change(&req)
		_, err := t.Lease(t.ctx, req)
		return err
	}
	record := func(change func(*provider.RecordRequest)) error {
		req := put("k", "v", 0)
		change(&req)
		_, err := t.Record(t.ctx, req)
		return err
	}
	return map[string]error{
		"ID prefix to list": prefix, "name to list": name, "name to count": count(provider.Filter{Name: word}),
		"attribute":      count(provider.Filter{Attributes: []provider.Attribute{{Name: word, Kind: provider.AttributeInt}}}),
		"text attribute": count(provider.Filter{Attributes: []provider.Attribute{{Name: "a", Kind: provider.AttributeText, Text: word}}}),
		"lease":          lease(func(r *provider.LeaseRequest) { r.Name = word }),
		"lease owner":    lease(func(r *provider.LeaseRequest) { r.Owner = word }),
		"namespace":      record(func(r *provider.RecordRequest) { r.Namespace = word }),
		"record":         record(func(r *provider.RecordRequest) { r.Key = word }),
		"prefix": record(func(r *provider.RecordRequest) {
			*r = provider.RecordRequest{Action: provider.RecordScan, Namespace: "n", Prefix: word}
		}),
	}
}

// textsKept stores valid but unusual texts. Each is kept as it is and differs from all others.
func textsKept(t *trial) {
	words := []string{"a", "A", "ä", "a\u0308", "\x01\x7f\n", `'";--\%_`, " a", "a ", "\u202e\U0001f600", "NULL", strings.Repeat("\U0001f600", provider.MaxName/4)}
	made := map[string]provider.UUID{}
	for _, word := range words {
		i := t.create(word, func(r *provider.CreateRequest) {
			r.Name, r.CodeVersion, r.RequestID = word, word, word
			r.Attributes = []provider.Attribute{{Name: word, Kind: provider.AttributeText, Text: word}}
		})
		made[word] = i.Key
	}
	for _, word := range words {
		i := t.byID(word)
		t.checkf(i.Key == made[word] && i.ID == word && i.Name == word && i.CodeVersion == word && i.RequestID == word,
			"the instance of %q is %+v, want the text unchanged", word, i)
		t.checkf(len(i.Attributes) == 1 && i.Attributes[0].Name == word && i.Attributes[0].Text == word,
			"the attributes of %q are %+v, want the text unchanged", word, i.Attributes)
		list := listPages(t, provider.Filter{Name: word, Attributes: i.Attributes}, 100, func() {})
		t.checkf(len(list) == 1 && list[0].Key == made[word], "the list of %q has %q, want one instance", word, idsOf(list))
		u := t.fetchOne(func(r *provider.FetchTurnsRequest) {
			r.Owner, r.Capabilities = word, []provider.Capability{{Name: word, CodeVersion: word}}
		})
		t.checkf(u.Instance.Key == made[word], "a fetch for %q got %q", word, u.Instance.ID)
		req := commitOf(u)
		task := newTask(1)
		task.Queue, task.Name, task.Session, task.LimitKey, task.FairnessKey = word, word, word, word, word
		req.Tasks, req.Values = []provider.NewTask{task}, []provider.KeyValue{{Key: word, Value: []byte("v")}}
		t.commit(req)
		leased := t.fetchTask(func(r *provider.FetchTasksRequest) {
			r.Queues = []provider.QueueFilter{{Queue: word, Names: []string{word}}}
			r.Sessions = claim(provider.MaxBatch)
		})
		t.checkf(leased.Key == made[word] && leased.Queue == word && leased.Name == word, "a fetch of the queue %q got %+v", word, leased)
		t.record(put(word, word, 0))
		lease := acquire(word)
		lease.Name = word
		t.checkf(callLease(t, lease).Owner == word, "the owner %q of a lease changed", word)
	}
	records := t.record(provider.RecordRequest{Action: provider.RecordScan, Namespace: "n"})
	t.checkf(len(records) == len(words), "%d records, want %d", len(records), len(words))
}
