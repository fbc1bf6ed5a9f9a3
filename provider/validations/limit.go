package validations

import (
	"strings"

	"github.com/perdure/perdure/provider"
)

func limitCases() []testCase {
	const names = "IDs, names and keys are valid UTF-8 without NUL, at most [MaxName] bytes"
	const limits = "Limits that every provider enforces with ErrInvalid (names), ErrTooLarge (sizes) or ErrInboxFull, before anything is stored."
	return []testCase{
		{name: "names", run: limitNames, rule: names + ", compared byte by byte. Everything else is refused with [ErrInvalid]."},
		{name: "longest-name", run: limitLongest, rule: "MaxName: bytes of an ID, name or key"},
		{name: "payload", run: limitPayload, rule: "MaxPayload: bytes of one payload: 2 MiB of user data plus the engine's envelope"},
		{name: "largest-payload", run: limitLargest, rule: "MaxPayload: bytes of one payload: 2 MiB of user data plus the engine's envelope"},
		{name: "zero-ids", run: limitZero, rule: "ErrInvalid means that the request breaks the contract. Nothing happened."},
		{name: "empty-batches", run: limitEmpty, rule: "ReportTasksResult has one result per item, in order."},
		{name: "refused-before-stored", run: limitCommit, rule: limits},
		{name: "rows-of-a-commit", run: commitRows, rule: "MaxCommitRows: of each kind in one commit: events, messages consumed, tasks, timers, sends, starts"},
		{name: "calls-at-once", run: callAtOnce, broad: true, rule: "All methods are safe for concurrent use."},
		{name: "page", run: limitPage, rule: "MaxPage: rows of a page"},
		{name: "batch", run: limitBatch, rule: "MaxBatch: items of a fetch, report, renewal or release"},
		{name: "lease", run: limitLease, rule: "MaxLease: longest lease"},
		{
			name: "every-error", run: limitErrors, broad: true,
			rule: "Every error is, or wraps, a sentinel of this package or an [*Error]. An *Error " +
				"says whether nothing happened, it happened, or the outcome is unknown.",
		},
		{name: "one-clock", run: clockOfStorage, broad: true, rule: "Only the storage's clock counts."},
		{name: "microseconds", run: clockUnit, rule: "Instants are [Time]: integer microseconds UTC, as the storage reads them."},
	}
}

func limitNames(t *trial) {
	for _, bad := range []string{"", "a\x00b", "a\xff", strings.Repeat("x", provider.MaxName+1)} {
		_, err := t.Create(t.ctx, createRequest(bad))
		t.want(err, provider.ErrInvalid)
		_, err = t.Send(t.ctx, provider.SendRequest{ID: bad, Message: text("m")})
		t.want(err, provider.ErrInvalid)
		_, err = t.Record(t.ctx, provider.RecordRequest{Action: provider.RecordPut, Namespace: "n", Key: bad})
		t.want(err, provider.ErrInvalid)
		_, err = t.FetchTurns(t.ctx, provider.FetchTurnsRequest{Owner: bad, Token: unique(), Lease: long, Max: 1})
		t.want(err, provider.ErrInvalid)
	}
}

func limitLongest(t *trial) {
	id := strings.Repeat("ü", provider.MaxName/2)
	i := t.create(id)
	is(t, "the key under the longest ID", t.byID(id).Key, i.Key)
}

func limitPayload(t *trial) {
	i := t.begin("i")
	big := make([]byte, provider.MaxPayload+1)
	t.unchanged(i.Key, func() {
		_, err := t.Send(t.ctx, provider.SendRequest{Key: i.Key, Message: provider.NewMessage{Payload: big}})
		t.want(err, provider.ErrTooLarge)
		req := next(i)
		req.Events = [][]byte{big}
		t.refused(req, provider.ErrTooLarge)
	})
}

func limitLargest(t *trial) {
	i := t.begin("i")
	m := provider.NewMessage{Payload: make([]byte, provider.MaxPayload)}
	m.Payload[provider.MaxPayload-1] = 1
	t.send(i.Key, m)
	u := t.fetchOne(named("i"))
	t.mustf(len(u.Messages) == 1, "%d messages, want 1", len(u.Messages))
	t.checkf(string(u.Messages[0].Payload) == string(m.Payload), "the payload has %d bytes, or differs from the one sent", len(u.Messages[0].Payload))
}

func limitZero(t *trial) {
	i := t.begin("i")
	t.unchanged(i.Key, func() {
		req := next(i)
		req.Commit = provider.UUID{}
		t.refused(req, provider.ErrInvalid)
		create := createRequest("j")
		create.Key = provider.UUID{}
		_, err := t.Create(t.ctx, create)
		t.want(err, provider.ErrInvalid)
		fetch := fetchRequest()
		fetch.Token = provider.UUID{}
		_, err = t.FetchTurns(t.ctx, fetch)
		t.want(err, provider.ErrInvalid)
	})
}

func limitEmpty(t *trial) {
	released, err := t.ReleaseTurns(t.ctx, provider.ReleaseTurnsRequest{})
	t.ok(err)
	reported, err := t.ReportTasks(t.ctx, provider.ReportTasksRequest{})
	t.ok(err)
	renewed, err := t.RenewTasks(t.ctx, provider.RenewTasksRequest{Lease: long})
	t.ok(err)
	t.checkf(len(released.Errs)+len(reported.Items)+len(renewed.Items) == 0, "empty batches returned items, want none")
	list := t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Queues = nil })
	t.checkf(len(list) == 0, "got %+v from a fetch without queues, want none", list)
}

func limitCommit(t *trial) {
	i := t.begin("i")
	req := rich(i)
	req.Tasks = append(req.Tasks, req.Tasks[0])
	t.refused(req, provider.ErrInvalid)
	req = rich(i)
	req.Events = make([][]byte, provider.MaxCommitRows+1)
	t.refused(req, provider.ErrTooLarge)
	req = rich(i)
	large := make([]byte, provider.MaxPayload)
	for range provider.MaxCommitBytes/provider.MaxPayload + 1 {
		req.Events = append(req.Events, large)
	}
	t.refused(req, provider.ErrTooLarge)
	req = rich(i)
	req.Status = provider.StatusSuspended
	t.refused(req, provider.ErrInvalid)
}
