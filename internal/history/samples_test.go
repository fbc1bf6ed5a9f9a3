package history

import (
	"reflect"
	"testing"
)

var sampleFailure = Failure{
	Type: "declined", Message: "card declined", Details: []byte(`{"Limit":7}`), NonRetryable: true, Code: "timeout", Registered: true,
	Causes: []Failure{{Type: "*net.OpError", Message: "dial", Causes: []Failure{{Message: "refused"}}}, {}},
}

var sampleRetry = RetryPolicy{
	MaxAttempts: 5, InitialInterval: 1_000_000, MaxInterval: 60_000_000, Coefficient: 2000, Jitter: 100,
	NonRetryable: [][]byte{[]byte("declined"), {}, []byte("*shop.StockError")},
	MaxElapsed:   3_600_000_000, Listed: 10,
}

var sampleAttempts = []Attempt{
	{Number: 2, Node: "node-1", Began: 1767322800000001, Ended: 1767322800000002, Failure: "card declined"},
	{Number: 3, Node: "node-2", Began: 1767322800000003},
}

var sampleHeader = EncodeHeader(map[string]string{"tenant": "t-7"})

// samples has one event of each kind, with every field set. The golden files hold their
// encodings, so an existing field must never change here: new fields come on top.
var samples = []Event{
	{At: 1767322800000001, Body: &ExecutionStarted{
		Name: "Checkout", CodeVersion: "v2", Input: []byte(`{"id":"o-1"}`), Settings: Settings{MaxPayload: 2 << 20, MaxEvents: 50_000, Flags: 3, MaxBytes: 50 << 20},
		Parent: Parent{Key: [16]byte{1, 2, 15: 16}, ID: "parent", Execution: 2, EventID: 17}, Continued: true,
		Seen: [][]byte{[]byte("r-1"), []byte("r-2")}, RequestID: "r-3", Delay: 60_000_000,
		Updates: []byte("0123456789abcdef"),
		Root:    Root{Key: [16]byte{3, 15: 4}, ID: "root"}, Began: 1767322800000000, Header: EncodeHeader(map[string]string{"tenant": "t", "id": "r"}),
		Seed: []byte("0123456789abcdef0123456789abcdef"), HasListener: true,
		Previous: &Previous{
			ID: "nightly/1", Key: [16]byte{5, 15: 6}, Status: 4, Ended: 1767322800000000, Output: []byte(`"ok"`), Size: 4, Failure: &sampleFailure,
		},
	}},
	{At: 1767322800000002, Body: &ExecutionOpened{}},
	{At: 1767322800000003, Body: &ActivityCompleted{Scheduled: 2, Output: []byte(`"ok"`), Attempt: 3, Attempts: sampleAttempts}},
	{At: 1767322800000004, Body: &ActivityFailed{Scheduled: 3, Failure: sampleFailure, Attempt: 4, Attempts: sampleAttempts}},
	{At: 1767322800000005, Body: &TimerFired{Timer: 5}},
	{At: 1767322800000006, Body: &EventReceived{Name: "approval", Payload: []byte(`{"by":"ann"}`), RequestID: "r-4", Header: sampleHeader}},
	{At: 1767322800000007, Body: &ChildCompleted{Started: 6, Output: []byte("42")}},
	{At: 1767322800000008, Body: &ChildFailed{Started: 7, Failure: sampleFailure}},
	{At: 1767322800000009, Body: &CancelRequested{Reason: "customer left", RequestID: "r-5", Header: sampleHeader}},
	{At: 1767322800000011, Body: &LocalEnded{Call: 1, Name: "Price", Output: []byte("7"), Failure: &sampleFailure, Attempt: 2}},
	{At: 1767322800000012, Body: &LocalQueued{Call: 2, Name: "Price", Attempts: 3, Delay: 90_000_000}},
	{At: 1767322800000013, Body: &UpdateReceived{Name: "add", ID: "u-1", Input: []byte(`{"sku":7}`), Header: sampleHeader}},
	{At: 1767322800000014, Body: &ReplyReceived{Command: 12, Message: [16]byte{2, 15: 3}, Outcome: ReplyEnded}},
	{At: 1767322800000013, Body: &ForkPoint{
		Seed: []byte("fedcba9876543210fedcba9876543210"), Key: [16]byte{1, 15: 2}, ID: "order-1", Execution: 3, Event: 17, Reason: "wrong price",
		RequestID: "r-6", OtherInstance: 16, Updates: []byte("0123456789abcdef"),
		Seen: &Identity{
			Key: [16]byte{1, 15: 2}, ID: "order-1", Execution: 3, Parent: Parent{Key: [16]byte{3, 15: 4}, ID: "shop", Execution: 1, EventID: 2},
			Root: Root{Key: [16]byte{5, 15: 6}, ID: "top"},
		},
	}},
	{Body: &ActivityScheduled{
		Name: "Charge", Queue: "payments", Input: []byte(`{"id":"o-1"}`), Retry: &sampleRetry, StartToClose: 10_000_000, AtMostOnce: true,
		ScheduleToStart: 20_000_000, ScheduleToClose: 30_000_000, HeartbeatTimeout: 5_000_000, Cancellation: CancelAbandon,
		Priority: 5, FairnessKey: "tenant-7", Session: "s-1", Local: 2, Attempts: 3, Delay: 90_000_000,
		Caller: EncodeCaller(Caller{Name: "Checkout", CodeVersion: "v2", Header: sampleHeader}),
	}},
	{Body: &ActivityCancelRequested{Scheduled: 8, How: CancelWait}},
	{Body: &TimerCreated{Due: 1767409200000000, Duration: 86_400_000_000}},
	{Body: &TimerCancelled{Timer: 9}},
	{Body: &ChildStarted{
		Name: "Ship", CodeVersion: "v1", ID: "ship-1", Key: [16]byte{16, 15: 1}, Explicit: true, Input: []byte("7"),
		Cancellation: CancelWait, Close: CloseAbandon, TellStart: true, Header: sampleHeader,
		Attributes: []Attribute{{Name: "region", Kind: 1, Text: "eu"}, {Name: "weight", Kind: 2, Number: 7}},
	}},
	{Body: &ChildCancelRequested{Started: 10, Key: [16]byte{16, 15: 1}}},
	{Body: &DetachedStarted{
		Name: "Ship", CodeVersion: "v1", ID: "ship-2", Key: [16]byte{17, 15: 1}, Explicit: true, Input: []byte("7"), RequestID: "r-7", EndEvent: "shipped",
		Attributes: []Attribute{{Name: "region", Kind: 1, Text: "eu"}}, Events: []FirstEvent{{Name: "paid", Payload: []byte("1")}},
	}},
	{Body: &EventSent{ID: "ship-2", Key: [16]byte{17, 15: 1}, Name: "approval", Payload: []byte(`{"by":"ann"}`), Message: [16]byte{2, 15: 3}}},
	{Body: &CancelSent{ID: "ship-2", Key: [16]byte{17, 15: 1}, Reason: "customer left", Message: [16]byte{2, 15: 4}}},
	{Body: &SideEffectRecorded{Value: []byte(`"value"`), Failure: &sampleFailure}},
	{Body: &UpdateAccepted{Received: 11}},
	{Body: &UpdateRejected{Received: 11, Outcome: UpdateRefused, Failure: &sampleFailure}},
	{Body: &UpdateCompleted{Received: 11, Outcome: UpdateDone, Output: []byte("2"), Failure: &sampleFailure}},
	{Body: &PatchMarked{ID: "parallel-checks"}},
	{Body: &MainReturned{Output: []byte(`"shipped"`), Failure: &sampleFailure, Cancelled: true, Next: &ContinuedAsNew{Name: "Checkout", CodeVersion: "v3", Input: []byte("[]")}, Grace: 600000000}},
	{Body: &ExecutionCompleted{Output: []byte(`{"receipt":1}`)}},
	{Body: &ExecutionFailed{Failure: sampleFailure}},
	{Body: &ExecutionCancelled{Failure: sampleFailure}},
	{At: 1767322800000010, Body: &ExecutionTerminated{Reason: "by hand"}},
	{Body: &ContinuedAsNew{Name: "Checkout", CodeVersion: "v3", Input: []byte("[]")}},
}

// edges are encodings that are easy to get wrong.
var edges = []Event{
	{At: -1, Body: &TimerCreated{Due: -1 << 63, Duration: 1<<63 - 1}},
	{Body: &SideEffectRecorded{}},
	{Body: &SideEffectRecorded{Failure: &Failure{}}},
	{Body: &ActivityScheduled{Retry: &RetryPolicy{}}},
	{Body: &ActivityScheduled{Name: "\xff\x00"}},
	{Body: &ExecutionFailed{Failure: Failure{Causes: []Failure{{}, {}}}}},
	{Body: &ExecutionStarted{Seen: [][]byte{{}}}},
}

func TestSamplesAreComplete(t *testing.T) {
	found := make(map[Kind]bool)
	for _, e := range samples {
		kind := e.Body.Kind()
		if found[kind] {
			t.Errorf("%v twice", kind)
		}
		found[kind] = true
		requireSet(t, kind.String(), reflect.ValueOf(e.Body).Elem())
		if e.At == 0 && kind.IsMessage() {
			t.Errorf("%v is a message without a time", kind)
		}
	}
	for kind := range kinds {
		if !found[kind] {
			t.Errorf("no sample of %v", kind)
		}
	}
}

// requireSet asks for a value in every field, so that the golden files show each one.
func requireSet(t *testing.T, path string, v reflect.Value) {
	t.Helper()
	switch {
	case v.Kind() == reflect.Struct:
		for f, field := range v.Fields() {
			requireSet(t, path+"."+f.Name, field)
		}
	case v.IsZero():
		t.Errorf("%s is not set", path)
	case v.Kind() == reflect.Pointer:
		requireSet(t, path, v.Elem())
	}
}

// The numbers of kinds are stored, and so are the names, in logs and exports.
func TestKinds(t *testing.T) {
	for kind, entry := range kinds {
		body := entry.make()
		if body.Kind() != kind {
			t.Errorf("%v makes a body of %v", kind, body.Kind())
		}
		if name := reflect.TypeOf(body).Elem().Name(); name != kind.String() {
			t.Errorf("%v makes a %s", kind, name)
		}
	}
	if got := Kind(200).String(); got != "Kind200" {
		t.Errorf("unknown kind is %s", got)
	}
	for kind, want := range map[Kind]bool{
		KindExecutionStarted: true, KindCancelRequested: true, KindExecutionTerminated: true,
		KindActivityScheduled: false, KindSideEffectRecorded: false, KindExecutionCompleted: false, KindContinuedAsNew: false,
	} {
		if kind.IsMessage() != want {
			t.Errorf("%v.IsMessage() is %v", kind, !want)
		}
	}
}
