package validations

import (
	"context"
	"sync/atomic"

	"github.com/perdure/perdure/provider"
)

func askCases() []testCase {
	const asks = "Ask stores a question outside the inbox. It blocks until the question is " +
		"answered, Wait has passed ([ErrNoAnswer]) or the context is done."
	const fetches = "FetchAsks takes up to Max open questions to instances of the given capabilities, in any status."
	const gone = "Answer answers a question. It returns [ErrNotFound] if the question is gone or was answered before."
	return []testCase{
		{name: "answered", run: askAnswered, rule: asks},
		{name: "no-answer", run: askNoAnswer, rule: asks},
		{name: "cancelled", run: askCancelled, rule: asks},
		{name: "unknown", run: askUnknown, rule: asks},
		{name: "ended-instance", run: askEnded, rule: "An instance accepts questions in any status."},
		{name: "held-instance", run: askHeld, rule: "An instance accepts questions in any status."},
		{name: "caller-is-gone", run: askGone, rule: gone},
		{name: "beside-the-inbox", run: askBeside, rule: asks},
		{name: "capabilities", run: askCapabilities, rule: fetches},
		{name: "taken", run: askTaken, rule: "A taken question is hidden from other fetches for Lease."},
		{name: "lease-ends", run: askLeaseEnds, rule: "A taken question is hidden from other fetches for Lease."},
		{name: "answered-once", run: askOnce, rule: gone},
		{name: "removed", run: askRemoved, rule: "The question is removed when the call returns or Wait has passed."},
		{name: "by-key-or-id", run: askNamed, rule: "It names the instance by Key, or by ID when Key is zero."},
		{name: "id-in-use", run: askInUse, rule: "An AskID that a waiting call of the same process has returns [ErrExists], and that call goes on."},
		{
			name: "close-ends-questions", run: askClosed,
			rule: "Close ends all blocked calls with [ErrClosed], waits for calls in progress and frees what the provider holds.",
		},
		{name: "wait-is-positive", run: askNeedsWait, rule: "AskRequest.Wait: must be positive"},
		{name: "up-to-max", run: asksMax, rule: fetches},
		{name: "fetch-passes", run: asksPass, rule: "The call blocks up to Wait."},
		{name: "question-wakes", run: asksWake, rule: "The call blocks up to Wait."},
	}
}

func askAnswered(t *trial) {
	i := t.create("i")
	answered := parkedAsk(t, i.Key)
	open := fetchAsk(t)
	t.checkf(string(open.Payload) == "question" && open.Instance.Key == i.Key && open.Instance.Version == i.Version,
		"got %+v, want the question with its stored instance", open)
	t.ok(answerAsk(t, open.AskID))
	got := answered()
	t.checkf(got.err == nil && got.payload == "answer", "Ask returned %+v, want the answer", got)
}

func askNoAnswer(t *trial) {
	i := t.create("i")
	_, err := t.Ask(t.ctx, provider.AskRequest{Key: i.Key, AskID: askID(i.Key), Wait: short})
	t.want(err, provider.ErrNoAnswer)
}

func askCancelled(t *trial) {
	i := t.create("i")
	ctx, cancel := context.WithCancel(t.ctx)
	asked := parked(t, func() error {
		_, err := t.Ask(ctx, provider.AskRequest{Key: i.Key, AskID: askID(i.Key), Wait: long})
		return err
	})
	fetchAsk(t)
	cancel()
	t.want(asked(), context.Canceled)
}

func askUnknown(t *trial) {
	_, err := t.Ask(t.ctx, provider.AskRequest{ID: "nobody", AskID: provider.NewKey("nobody"), Wait: long})
	t.want(err, provider.ErrNotFound)
}

func askEnded(t *trial) {
	i := t.create("i")
	t.steer(i.Key, provider.SteerTerminate)
	answered := parkedAsk(t, i.Key)
	t.ok(answerAsk(t, fetchAsk(t).AskID))
	t.ok(answered().err)
}

// An instance accepts questions while it is suspended, blocked or leased for a turn.
func askHeld(t *trial) {
	suspended, blocked, leased := t.create("suspended"), t.create("blocked"), t.create("leased")
	for _, u := range t.fetch() {
		if u.Instance.Key == blocked.Key {
			t.block(u, true)
		}
	}
	t.steer(suspended.Key, provider.SteerSuspend)
	for _, i := range []provider.Instance{suspended, blocked, leased} {
		answered := parkedAsk(t, i.Key)
		open := fetchAsk(t)
		t.checkf(open.Instance.Key == i.Key && string(open.Payload) == "question",
			"got %q to %s, want the question to the held instance", open.Payload, open.Instance.ID)
		t.ok(answerAsk(t, open.AskID))
		t.ok(answered().err)
	}
}

// An answer after the deadline returns an error and reaches no caller.
func askGone(t *trial) {
	i := t.create("i")
	var found atomic.Bool
	fetched := parked(t, func() provider.OpenAsk { // before the question, which expires soon
		open := fetchAsk(t)
		found.Store(true)
		return open
	})
	for round := 0; round < tries && !found.Load(); round++ { // the fetch may begin late
		_, err := t.Ask(t.ctx, provider.AskRequest{Key: i.Key, AskID: askID(i.Key), Wait: 3 * short})
		t.want(err, provider.ErrNoAnswer)
	}
	t.want(answerAsk(t, fetched().AskID), provider.ErrNotFound)
}

func askBeside(t *trial) {
	i := t.begin("i")
	var answered func() answer
	t.unchanged(i.Key, func() {
		answered = parkedAsk(t, i.Key)
		open := fetchAsk(t, func(r *provider.FetchAsksRequest) { r.Capabilities[0].Name = "setup-i" })
		t.ok(answerAsk(t, open.AskID))
	})
	t.ok(answered().err)
}

func askCapabilities(t *trial) {
	other := t.create("other", func(r *provider.CreateRequest) { r.CodeVersion = "v2" })
	high := t.create("high", func(r *provider.CreateRequest) { r.EngineLevel = 3 })
	i := t.create("i")
	for _, key := range []provider.UUID{other.Key, high.Key, i.Key} {
		parkedAsk(t, key)
	}
	open := fetchAsk(t)
	t.checkf(open.Instance.Key == i.Key, "got a question to %s, want one that the capability allows", open.Instance.ID)
	open = fetchAsk(t, func(r *provider.FetchAsksRequest) { r.EngineLevel = 3 })
	t.checkf(open.Instance.Key == high.Key, "got a question to %s, want one that the engine level allows", open.Instance.ID)
}

func askTaken(t *trial) {
	parkedAsk(t, t.create("i").Key)
	fetchAsk(t)
	res, err := t.FetchAsks(t.ctx, fetchAsksRequest())
	t.ok(err)
	t.checkf(len(res.Asks) == 0, "got %d questions, want none while another fetch holds it", len(res.Asks))
}

func askLeaseEnds(t *trial) {
	parkedAsk(t, t.create("i").Key)
	first := fetchAsk(t, func(r *provider.FetchAsksRequest) { r.Lease = short })
	second := fetchAsk(t)
	is(t, "the question after its lease expired", second.AskID, first.AskID)
}

func askOnce(t *trial) {
	t.want(answerAsk(t, unique()), provider.ErrNotFound)
	answered := parkedAsk(t, t.create("i").Key)
	open := fetchAsk(t)
	t.ok(answerAsk(t, open.AskID))
	t.want(answerAsk(t, open.AskID), provider.ErrNotFound)
	is(t, "the answer", answered().payload, "answer")
}

func askRemoved(t *trial) {
	i := t.create("i")
	_, err := t.Ask(t.ctx, provider.AskRequest{Key: i.Key, AskID: askID(i.Key), Wait: short})
	t.want(err, provider.ErrNoAnswer)
	res, err := t.FetchAsks(t.ctx, fetchAsksRequest())
	t.ok(err)
	t.checkf(len(res.Asks) == 0, "got %d questions, want none after Wait has passed", len(res.Asks))
}
