package sealing_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/sealing"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/provider/validations"
)

// switched is a codec that can be switched off. It counts calls and notes what it was given in plain.
type switched struct {
	codec.Codec

	mu    sync.Mutex
	fault error // of each call; nil: none
	seals int
	opens int
	items int // that were opened
	grows int // beyond what it says
}

var errDown = errors.New("the key service is down")

func newSwitched(t testing.TB, id string) *switched {
	t.Helper()
	c, err := codec.AES(codec.Key{ID: id, Bytes: bytes.Repeat([]byte{id[0]}, 32)})
	if err != nil {
		t.Fatal(err)
	}
	return &switched{Codec: c}
}

func (s *switched) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = err
}

func (s *switched) Seal(ctx context.Context, items []codec.Plain) ([]codec.Sealed, error) {
	s.mu.Lock()
	s.seals++
	err, grows := s.fault, s.grows
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	out, err := s.Codec.Seal(ctx, items)
	for i := range out {
		out[i].Bytes = append(out[i].Bytes, make([]byte, grows)...)
	}
	return out, err
}

func (s *switched) Open(ctx context.Context, items []codec.Sealed) ([]codec.Plain, error) {
	s.mu.Lock()
	s.opens++
	s.items += len(items)
	err := s.fault
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return s.Codec.Open(ctx, items)
}

func always(context.Context, bool) error { return nil }

func seal(p provider.Provider, c codec.Codec) *sealing.Store {
	return sealing.New(p, c, new(sealing.Faults), always)
}

func id() provider.UUID { return provider.NewKey(fmt.Sprint(time.Now().UnixNano())) }

func event(b history.Body) []byte { return history.Encode(nil, history.Event{At: 5, Body: b}) }

func message(b history.Body) provider.NewMessage {
	return provider.NewMessage{Kind: provider.MessageKind(b.Kind()), Payload: event(b)}
}

// create stores an instance with an input, and returns its request.
func create(t *testing.T, p provider.Provider, name string) provider.CreateRequest {
	t.Helper()
	req := provider.CreateRequest{
		ID: name, Key: provider.NewKey(name), Commit: id(), Name: "main", EngineLevel: replay.LowestLevel,
		Message: message(&history.ExecutionStarted{Name: "main", Input: []byte(`"secret input"`)}),
	}
	if _, err := p.Create(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	return req
}

// fetch leases the turn of an instance.
func fetch(t *testing.T, p provider.Provider) (provider.Turn, provider.UUID) {
	t.Helper()
	token := id()
	res, err := p.FetchTurns(t.Context(), provider.FetchTurnsRequest{
		Owner: "node", Token: token, Lease: time.Minute, Capabilities: []provider.Capability{{Name: "main"}}, EngineLevel: replay.EngineLevel, Max: 1,
	})
	if err != nil || len(res.Turns) != 1 {
		t.Fatalf("%+v, %v", res, err)
	}
	return res.Turns[0], token
}

// The decorator keeps the contract for payloads that are no events, and for those that it seals as a whole.
func TestConformance(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the suite is long")
	}
	validations.Run(t, func(t *testing.T) provider.Provider {
		p := sealing.New(memory.New(memory.Options{}), codec.OpenOnly(newSwitched(t, "a")), nil, always)
		t.Cleanup(func() { _ = p.Close() })
		return p
	})
}

// Each call of the contract by which bytes pass is the Store's own. A new one must be thought of.
func TestEveryMethodIsDecorated(t *testing.T) {
	t.Parallel()
	without := []string{ // payloads
		"Close", "Count", "Stats", "Delete", "Prune", "Lease", "Record", // records are the engine's own
		"Features",
	}
	own := map[string]bool{}
	for _, name := range declared(t) {
		own[name] = true
	}
	for _, i := range []reflect.Type{
		reflect.TypeFor[provider.Provider](), reflect.TypeFor[provider.Asker](), reflect.TypeFor[provider.Lister](), reflect.TypeFor[provider.Meter](),
		reflect.TypeFor[provider.Cleaner](), reflect.TypeFor[provider.Redriver](), reflect.TypeFor[provider.Keeper](), reflect.TypeFor[provider.Opener](),
		reflect.TypeFor[provider.TaskSteerer](), reflect.TypeFor[provider.Transactor](),
		reflect.TypeFor[provider.TaskLister](), reflect.TypeFor[provider.FailureGrouper](),
	} {
		for m := range i.Methods() {
			if name := m.Name; own[name] == slices.Contains(without, name) {
				t.Errorf("%v.%s is decorated: %t", i, name, own[name])
			}
		}
	}
	// These pass sealed bytes on as they are: a copy of the store, an export, a check.
	for _, raw := range []any{new(provider.Mover), new(provider.Inspector), new(provider.Backuper)} {
		if reflect.TypeFor[*sealing.Store]().Implements(reflect.TypeOf(raw).Elem()) {
			t.Errorf("it is a %T, so what moves would be plain", raw)
		}
	}
}

// What one request holds is sealed with one call and comes back as it was, level 12 says that, and the caller's request stays plain.
func TestCommitRoundTrip(t *testing.T) {
	t.Parallel()
	under, c := memory.New(memory.Options{}), newSwitched(t, "a")
	p := seal(under, c)
	created := create(t, p, "one")
	turn, token := fetch(t, p)
	if e, err := history.Decode(0, turn.Messages[0].Payload); err != nil || string(e.Body.(*history.ExecutionStarted).Input) != `"secret input"` {
		t.Fatalf("%+v, %v", e, err)
	}
	if turn.Instance.EngineLevel != replay.LevelOfLanguage {
		t.Errorf("the instance has level %d", turn.Instance.EngineLevel)
	}
	scheduled := event(&history.ActivityScheduled{Name: "a", Queue: "q", Input: []byte(`"secret call"`)})
	commit := provider.CommitTurnRequest{
		Key: created.Key, Execution: 1, Expected: turn.Instance.Version, Commit: id(), Lease: token, Consumed: []int64{turn.Messages[0].ID},
		Status: provider.StatusRunning, EngineLevel: replay.LowestLevel,
		Events: [][]byte{turn.Messages[0].Payload, scheduled},
		Tasks:  []provider.NewTask{{EventID: 2, Queue: "q", Name: "a", Payload: scheduled}}, CustomStatus: []byte(`"secret status"`),
		Values: []provider.KeyValue{{Key: "k", Value: []byte(`"secret value"`)}, {Key: replay.ValueClosing, Value: []byte(`{"since":1}`)}},
		Sends:  []provider.OutMessage{{Key: created.Key, Message: message(&history.EventReceived{Name: "e", Payload: []byte(`"secret event"`)})}},
	}
	before := fmt.Sprintf("%+q", commit.Events) + fmt.Sprintf("%v", commit.Tasks) + fmt.Sprintf("%v", commit.Values)
	calls := c.seals
	if _, err := p.CommitTurn(t.Context(), commit); err != nil {
		t.Fatal(err)
	}
	if c.seals != calls+1 {
		t.Errorf("%d calls for one commit", c.seals-calls)
	}
	if after := fmt.Sprintf("%+q", commit.Events) + fmt.Sprintf("%v", commit.Tasks) + fmt.Sprintf("%v", commit.Values); after != before {
		t.Errorf("the caller's request became %s", after)
	}
	get := provider.GetRequest{Key: created.Key, WithValues: true, WithTasks: true}
	raw, err := under.Get(t.Context(), get)
	if err != nil || strings.Contains(fmt.Sprintf("%s %s", raw.Instance.CustomStatus, raw.Values), "secret") || !history.IsSealed(raw.Instance.CustomStatus) {
		t.Errorf("%+v, %v", raw, err)
	}
	plain, err := p.Get(t.Context(), get)
	if err != nil || string(plain.Instance.CustomStatus) != `"secret status"` || string(plain.Values[0].Value) != `"secret value"` {
		t.Errorf("%s, %s, %v", plain.Instance.CustomStatus, plain.Values, err)
	}
	if string(raw.Values[1].Value) != `{"since":1}` {
		t.Errorf("a value of the engine is %q", raw.Values[1].Value)
	}
	items := c.items
	h, err := p.ReadHistory(t.Context(), provider.ReadHistoryRequest{Key: created.Key, Execution: 1, From: 1})
	if err != nil || !bytes.Equal(h.Events[1].Data, scheduled) || c.items != items+2 {
		t.Errorf("%v, %v, %d items opened", h.Events, err, c.items-items)
	}
}

// fail ends an instance with an excerpt, in a group.
func fail(t *testing.T, p provider.Provider, name, excerpt string) {
	t.Helper()
	created := create(t, p, name)
	turn, token := fetch(t, p)
	commit := provider.CommitTurnRequest{
		Key: created.Key, Execution: 1, Expected: turn.Instance.Version, Commit: id(), Lease: token, Consumed: []int64{turn.Messages[0].ID},
		Status: provider.StatusFailed, EngineLevel: replay.LowestLevel, Events: [][]byte{turn.Messages[0].Payload}, CloseInbox: "failed",
		Excerpt: []byte(excerpt), FailureGroup: "1-group",
	}
	if _, err := p.CommitTurn(t.Context(), commit); err != nil {
		t.Fatal(err)
	}
}

// Equal texts are sealed to different bytes. They are counted as the texts that they are, also if there are more than a group shows.
func TestHazard160_SealedTextsAreCountedInPlain(t *testing.T) {
	t.Parallel()
	p := seal(memory.New(memory.Options{}), newSwitched(t, "a").Codec) // which makes digests
	const equal = 60
	for n := range equal {
		fail(t, p, fmt.Sprint("equal", n), "declined")
	}
	for n := range 12 {
		fail(t, p, fmt.Sprint("other", n), fmt.Sprintf("other %02d", n))
	}
	all, err := p.FailureGroups(t.Context(), provider.FailureGroupsRequest{})
	if err != nil || len(all.Groups) != 1 || all.Groups[0].Count != equal+12 {
		t.Fatalf("%+v, %v", all, err)
	}
	for most, want := range map[int]int{0: provider.MaxGroupTexts, 1: 1, 12: 12, 100: 13} {
		res, err := p.FailureGroups(t.Context(), provider.FailureGroupsRequest{Group: all.Groups[0].Group, Texts: most})
		if err != nil || len(res.Groups) != 1 || len(res.Groups[0].Texts) != want {
			t.Fatalf("at most %d: %+v, %v", most, res, err)
		}
		texts := res.Groups[0].Texts
		if string(texts[0].Excerpt) != "declined" || texts[0].Count != equal {
			t.Errorf("at most %d: %q %d times, want %d", most, texts[0].Excerpt, texts[0].Count, equal)
		}
		if want > 1 && (string(texts[1].Excerpt) != "other 00" || texts[1].Count != 1) {
			t.Errorf("at most %d: the second is %q, %d times", most, texts[1].Excerpt, texts[1].Count)
		}
	}
}

// The same item opens wherever a store has copied it to, and as nothing else.
func TestHazard71_PayloadsTravel(t *testing.T) {
	t.Parallel()
	from, to, c := memory.New(memory.Options{}), memory.New(memory.Options{}), newSwitched(t, "a")
	created := create(t, seal(from, c), "one")
	turn, _ := fetch(t, from) // as it is stored
	sealed := turn.Messages[0].Payload
	if _, err := history.Decode(0, sealed); !errors.Is(err, history.ErrSealed) {
		t.Fatalf("it is not sealed: %v", err)
	}
	// Another instance, under another key and ID, in another store, gets the bytes as they are.
	_, err := to.Create(t.Context(), provider.CreateRequest{
		ID: "two", Key: provider.NewKey("two"), Commit: id(), Name: "main", EngineLevel: replay.EngineLevel,
		Message: provider.NewMessage{Kind: created.Message.Kind, Payload: sealed},
	})
	if err != nil {
		t.Fatal(err)
	}
	moved, _ := fetch(t, seal(to, c))
	if !bytes.Equal(moved.Messages[0].Payload, created.Message.Payload) {
		t.Errorf("%q became %q", created.Message.Payload, moved.Messages[0].Payload)
	}
}

// stubborn is a store whose commits fail with an unknown outcome, and which notes their bytes.
type stubborn struct {
	provider.Provider

	commits []string
}

func (s *stubborn) Unwrap() provider.Provider { return s.Provider }

func (s *stubborn) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	s.commits = append(s.commits, fmt.Sprintf("%q", req.Events))
	if len(s.commits) < 3 {
		return provider.CommitTurnResult{}, &provider.Error{Op: "commit turn", Outcome: provider.OutcomeUnknown, Retryable: true, Err: errDown}
	}
	return s.Provider.CommitTurn(ctx, req)
}

// A commit is sealed once, however often it is sent.
func TestHazard125_ARepeatSendsTheSameBytes(t *testing.T) {
	t.Parallel()
	c := newSwitched(t, "a")
	under := &stubborn{Provider: memory.New(memory.Options{})}
	p := seal(under, c)
	created := create(t, p, "one")
	turn, token := fetch(t, p)
	calls := c.seals
	commit := provider.CommitTurnRequest{
		Key: created.Key, Execution: 1, Expected: turn.Instance.Version, Commit: id(), Lease: token, Consumed: []int64{turn.Messages[0].ID},
		Status: provider.StatusRunning, Events: [][]byte{turn.Messages[0].Payload},
	}
	var err error
	for range 3 {
		_, err = p.CommitTurn(t.Context(), commit)
	}
	if err != nil || len(under.commits) != 3 || under.commits[0] != under.commits[1] || under.commits[0] != under.commits[2] || c.seals != calls+1 {
		t.Errorf("%v, %d calls of the codec, commits %q", err, c.seals-calls, under.commits)
	}
}

// A codec that does not answer is an outage of each call that needs it. A release and a renewal do not need it.
func TestHazard72_AnOutageIsAnOutage(t *testing.T) {
	t.Parallel()
	c, faults := newSwitched(t, "a"), new(sealing.Faults)
	under := memory.New(memory.Options{})
	p := sealing.New(under, c, faults, always)
	created := create(t, p, "one")
	c.fail(errDown)
	send := provider.SendRequest{Key: created.Key, Message: message(&history.EventReceived{Name: "e", Payload: []byte(`1`)})}
	_, err := p.Send(t.Context(), send)
	if !errors.Is(err, errDown) || !provider.Retryable(err) || provider.OutcomeOf(err) != provider.OutcomeNothing {
		t.Errorf("send: %v", err)
	}
	if err := faults.Err(); !errors.Is(err, sealing.ErrCodec) || !errors.Is(err, errDown) {
		t.Errorf("the finding is %v", err)
	}
	turn, token := fetch(t, p)
	if _, err := history.Decode(0, turn.Messages[0].Payload); !errors.Is(err, history.ErrNewer) {
		t.Errorf("fetched: %v", err)
	}
	res, err := p.ReleaseTurns(t.Context(), provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{{
		Kind: provider.ReleaseFailed, Key: created.Key, Token: token, Failure: &provider.TurnFailure{Reason: "panic", Message: "secret text"},
	}}})
	if err != nil || res.Errs[0] != nil {
		t.Errorf("release: %v, %v", res, err)
	}
	c.fail(nil)
	got, err := p.Get(t.Context(), provider.GetRequest{Key: created.Key})
	if err != nil || got.Instance.Blocked == nil || strings.Contains(got.Instance.Blocked.Message, "secret") {
		t.Errorf("%+v, %v", got.Instance.Blocked, err)
	}
	if _, err := p.Send(t.Context(), send); err != nil || faults.Err() != nil {
		t.Errorf("%v, %v", err, faults.Err())
	}
}

// Heartbeat details that could not be sealed are stored with a later renewal of the task.
func TestHazard72_LateHeartbeats(t *testing.T) {
	t.Parallel()
	c := newSwitched(t, "a")
	p := seal(memory.New(memory.Options{}), c)
	created := create(t, p, "one")
	turn, token := fetch(t, p)
	call := event(&history.ActivityScheduled{Name: "a", Queue: "q", Input: []byte(`1`)})
	lease := id()
	_, err := p.CommitTurn(t.Context(), provider.CommitTurnRequest{
		Key: created.Key, Execution: 1, Expected: turn.Instance.Version, Commit: id(), Lease: token, Consumed: []int64{turn.Messages[0].ID},
		Status: provider.StatusRunning, Events: [][]byte{turn.Messages[0].Payload, call},
		Tasks: []provider.NewTask{{EventID: 2, Queue: "q", Name: "a", Payload: call, Lease: &provider.TaskLease{Token: lease, Owner: "node", Duration: time.Minute}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ref := provider.TaskRef{Key: created.Key, Execution: 1, EventID: 2}
	renew := func(details []byte) string {
		res, err := p.RenewTasks(t.Context(), provider.RenewTasksRequest{Lease: time.Minute, Items: []provider.TaskRenewal{{TaskRef: ref, Token: lease, Details: details}}})
		if err != nil || res.Items[0].Err != nil {
			t.Fatal(res, err)
		}
		c.fail(nil)
		got, err := p.Get(t.Context(), provider.GetRequest{Key: created.Key, WithTasks: true})
		if err != nil {
			t.Fatal(err)
		}
		return string(got.Tasks[0].Details)
	}
	c.fail(errDown)
	if got := renew([]byte(`"half"`)); got != "" {
		t.Errorf("details %q", got)
	}
	if got := renew(nil); got != `"half"` {
		t.Errorf("details %q after the outage", got)
	}
	if got := renew([]byte(`"done"`)); got != `"done"` {
		t.Errorf("details %q", got)
	}
}

// What no key here opens, and what is damaged, spoils nothing beside it.
func TestHazard116_OneBadItemSpoilsNoOther(t *testing.T) {
	t.Parallel()
	mine, theirs, faults := newSwitched(t, "a"), newSwitched(t, "b"), new(sealing.Faults)
	under := memory.New(memory.Options{})
	p := sealing.New(under, mine, faults, always)
	created := create(t, p, "one")
	for _, c := range []codec.Codec{theirs, mine} {
		_, err := seal(under, c).Send(t.Context(), provider.SendRequest{Key: created.Key, Message: message(&history.EventReceived{Name: "e", Payload: []byte(`"x"`)})})
		if err != nil {
			t.Fatal(err)
		}
	}
	damaged := message(&history.EventReceived{Name: "e", Payload: []byte(`"x"`)})
	sealed, err := mine.Seal(t.Context(), []codec.Plain{{Purpose: codec.Value, Bytes: []byte("x")}}) // of another purpose
	if err != nil {
		t.Fatal(err)
	}
	damaged.Payload, err = history.SealEvent(damaged.Payload, history.Kept{Key: "a", Bytes: sealed[0].Bytes})
	if err == nil {
		_, err = under.Send(t.Context(), provider.SendRequest{Key: created.Key, Message: damaged})
	}
	if err != nil {
		t.Fatal(err)
	}
	turn, _ := fetch(t, p)
	for i, want := range []error{nil, history.ErrNewer, nil, history.ErrCorrupt} {
		if _, err := history.Decode(0, turn.Messages[i].Payload); !errors.Is(err, want) {
			t.Errorf("message %d: %v, want %v", i, err, want)
		}
	}
	if err := faults.Err(); err == nil || !strings.Contains(err.Error(), `cannot decrypt what key "b" has encrypted`) || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("the finding is %v", err)
	}
}

// What a process notes of bytes that it cannot open is not stored with them.
func TestNotesAreNotStored(t *testing.T) {
	t.Parallel()
	under := memory.New(memory.Options{})
	p := seal(under, newSwitched(t, "a"))
	created := create(t, p, "noted")
	m := message(&history.EventReceived{Name: "e", Payload: []byte(`"x"`)})
	sealed, err := history.SealEvent(m.Payload, history.Kept{Key: "b", Bytes: []byte("cipher text")})
	if err != nil {
		t.Fatal(err)
	}
	m.Payload = history.NotedEvent(sealed, history.Note{Why: "no key"})
	if _, err := p.Send(t.Context(), provider.SendRequest{Key: created.Key, Message: m}); err != nil {
		t.Fatal(err)
	}
	turn, _ := fetch(t, under)
	if !bytes.Equal(turn.Messages[1].Payload, sealed) {
		t.Errorf("stored is %q, want %q", turn.Messages[1].Payload, sealed)
	}
	if history.SealedIn(history.Noted(history.EncodeSealed(history.Kept{Key: "b"}), history.Note{Why: "other"})).Error() == "" {
		t.Error("it has no text")
	}
}

// A codec that breaks its promise stores nothing.
func TestHazard72_GrowthIsChecked(t *testing.T) {
	t.Parallel()
	c := newSwitched(t, "a")
	p := seal(memory.New(memory.Options{}), c)
	c.grows = 1
	_, err := p.Create(t.Context(), provider.CreateRequest{
		ID: "x", Key: provider.NewKey("x"), Commit: id(), Name: "main", Message: message(&history.ExecutionStarted{Name: "main", Input: []byte(`1`)}),
	})
	if err == nil || !strings.Contains(err.Error(), "Growth") {
		t.Errorf("%v", err)
	}
	if err := sealing.Check(huge{c}); err == nil {
		t.Error("a codec with base 64 is taken")
	}
	if err := sealing.Check(c); err != nil {
		t.Error(err)
	}
}

type huge struct{ codec.Codec }

func (huge) Growth() int { return codec.MaxGrowth + 1 }

// A wait for a key-value ends when the value differs from the old one in plain.
func TestWaitForValue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := seal(memory.New(memory.Options{}), newSwitched(t, "a"))
		defer p.Close() //nolint:errcheck // memory
		created := create(t, p, "one")
		version := created.Commit
		put := func(value string) {
			got, err := p.Get(t.Context(), provider.GetRequest{Key: created.Key})
			if err != nil {
				t.Fatal(err)
			}
			version = got.Instance.Version
			_, err = p.CommitTurn(t.Context(), provider.CommitTurnRequest{
				Key: created.Key, Execution: 1, Expected: version, Commit: id(), Status: provider.StatusRunning, Values: []provider.KeyValue{{Key: "k", Value: []byte(value)}},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		put(`1`)
		wait := func(old string) (string, time.Duration) {
			began := time.Now()
			got, err := p.Get(t.Context(), provider.GetRequest{Key: created.Key, Value: "k", WaitValue: true, OldValue: []byte(old), Wait: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			return string(got.Value.Value), time.Since(began)
		}
		if got, took := wait(`0`); got != `1` || took != 0 {
			t.Errorf("%q after %v", got, took)
		}
		if got, took := wait(`1`); got != `1` || took != time.Minute {
			t.Errorf("%q after %v, though it is the old one", got, took)
		}
		time.AfterFunc(time.Second, func() { put(`2`) })
		if got, took := wait(`1`); got != `2` || took > 5*time.Second {
			t.Errorf("%q after %v", got, took)
		}
	})
}

// The lines of executions that say why something was not stored may name a value. Other lines keep what they say.
func TestHazard82_QuietHidesReasons(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := sealing.Quiet(slog.New(slog.NewTextHandler(&out, nil)))
	log.Warn("state could not be stored", "what", "status", "why", "secret one")
	log.Warn("figures of the code were left out", "count", 1, "first", "secret two")
	log.Warn("the handler of an event failed", "err", errDown)
	log.Warn("a task waits", "why", "no node")
	if text := out.String(); strings.Contains(text, "secret") || strings.Contains(text, errDown.Error()) || !strings.Contains(text, "no node") {
		t.Error(text)
	}
}

// Damaged bytes of why an instance is blocked say that they are damaged.
func TestHazard116_DamagedReason(t *testing.T) {
	t.Parallel()
	under, c := memory.New(memory.Options{}), newSwitched(t, "a")
	created := create(t, seal(under, c), "one")
	_, token := fetch(t, under)
	sealed, err := c.Seal(t.Context(), []codec.Plain{{Purpose: codec.Value, Bytes: []byte("x")}}) // of another purpose
	if err != nil {
		t.Fatal(err)
	}
	_, err = under.ReleaseTurns(t.Context(), provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{{
		Kind: provider.ReleaseFailed, Key: created.Key, Token: token,
		Failure: &provider.TurnFailure{Reason: "panic", Message: string(history.EncodeSealed(history.Kept{Key: "a", Bytes: sealed[0].Bytes}))},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := seal(under, c).Get(t.Context(), provider.GetRequest{Key: created.Key})
	if err != nil || got.Instance.Blocked == nil || !errors.Is(history.SealedIn([]byte(got.Instance.Blocked.Message)), history.ErrCorrupt) {
		t.Errorf("%+v, %v", got.Instance.Blocked, err)
	}
}

// deaf is a store whose records cannot be read for a time.
type deaf struct {
	*provider.Full

	err error
}

func (d *deaf) Unwrap() provider.Provider { return d.Provider }

func (d *deaf) Record(ctx context.Context, req provider.RecordRequest) (provider.RecordResult, error) {
	if d.err != nil {
		return provider.RecordResult{}, d.err
	}
	return d.Full.Record(ctx, req)
}

// While the level is not known, nothing is refused for good. A node refuses nothing for good at all: what it could not store it would drop.
func TestHazard72_TheLevelIsNotKnown(t *testing.T) {
	t.Parallel()
	for _, waits := range []bool{false, true} {
		under := &deaf{provider.FullOf(memory.New(memory.Options{})), errDown}
		level, faults := upgrade.New(provider.FullOf(under), replay.EngineLevel), new(sealing.Faults)
		allowed := sealing.AllowedBy(func() *upgrade.Level { return level }, sealing.Refusal{
			Of: func(level int64) error { return fmt.Errorf("%w: %d", errLevel, level) }, Waits: waits,
		})
		create(t, under, "one")
		p := sealing.New(under, newSwitched(t, "a"), faults, allowed)
		send := provider.SendRequest{Key: provider.NewKey("one"), Message: message(&history.EventReceived{Name: "e", Payload: []byte(`1`)})}
		if _, err := p.Send(t.Context(), send); !errors.Is(err, errDown) || !provider.Retryable(err) || errors.Is(err, errLevel) {
			t.Errorf("the level is not known: %v", err)
		}
		if err := allowed(t.Context(), true); !errors.Is(err, errDown) || !provider.Retryable(err) {
			t.Errorf("in a transaction: %v", err)
		}
		under.err = nil
		if _, err := p.Send(t.Context(), send); !errors.Is(err, errLevel) || provider.Retryable(err) != waits || provider.OutcomeOf(err) != provider.OutcomeNothing {
			t.Errorf("the level is too low: %v", err)
		}
		if err := faults.Err(); !errors.Is(err, errLevel) || !errors.Is(err, sealing.ErrCodec) {
			t.Errorf("the finding is %v", err)
		}
	}
}

var errLevel = errors.New("the level is too low")

// A release does not wait for a codec that hangs, and has time left for the store.
func TestHazard72_ReleasesDoNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		under := memory.New(memory.Options{})
		defer under.Close() //nolint:errcheck // memory
		p := seal(under, hanging{newSwitched(t, "a")})
		created := create(t, under, "one")
		_, token := fetch(t, under)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		_, err := p.ReleaseTurns(ctx, provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{{
			Kind: provider.ReleaseFailed, Key: created.Key, Token: token, Failure: &provider.TurnFailure{Reason: "panic", Message: "secret text"},
		}}})
		if took := time.Since(began); err != nil || took > 2*time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// hanging is a codec whose key service hangs.
type hanging struct{ codec.Codec }

func (hanging) Seal(ctx context.Context, _ []codec.Plain) ([]codec.Sealed, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}
