package schedule_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// world is a store in virtual time with one node and a client of another process.
type world struct {
	*enginetest.Engine
	*client.Client

	rt *runtime.Runtime

	mu   sync.Mutex
	runs []string // IDs of runs in the order in which they began
}

// job is the input of the runs.
type job struct {
	Hold string `json:"hold,omitempty"` // wait for the event "go"
	Fail bool   `json:"fail,omitempty"`

	Again bool `json:"again,omitempty"` // continue as new once
}

// begin is when the bubbles' time begins.
var begin = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// scheduled runs a test in virtual time.
func scheduled(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		w := newWorld(e)
		test(w)
	})
}

func newWorld(e *enginetest.Engine) *world {
	w := &world{Engine: e}
	w.rt = e.Start(w.registry())
	w.Client = e.Client(client.Options{})
	return w
}

func (w *world) registry() *runtime.Registry {
	reg := runtime.NewRegistry()
	enginetest.Orchestration(w.T, reg, "Job", w.job)
	return reg
}

// job is the orchestration of the runs. It notes what Info says of its schedule.
func (w *world) job(ctx *orchestration.Context, in job) (string, error) {
	info := ctx.Info()
	w.note(info.ID)
	if _, ok := strings.CutPrefix(info.ID, "s/"); ok && in.Hold != "own" {
		if of := info.Scheduled; of.ID != "s" || !strings.HasPrefix(info.ID, "s/"+of.Due.Format("2006-01-02T15:04:05Z")) {
			w.T.Errorf("%s: Info.Scheduled is %+v", info.ID, of)
		}
	}
	if in.Hold != "" {
		if _, err := orchestration.Events[int](ctx, "go").Receive(ctx); err != nil {
			return "", err
		}
	}
	if in.Again {
		in.Again = false
		return "", orchestration.ContinueAsNew(ctx, in)
	}
	if in.Fail {
		return "", errors.New("it is meant to fail")
	}
	return "done", nil
}

func (w *world) note(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.runs, id) { // else a replay
		w.runs = append(w.runs, id)
	}
}

// create creates the schedule "s".
func (w *world) create(spec client.ScheduleSpec, in job, opts ...client.ScheduleOption) client.Schedule {
	w.T.Helper()
	s, err := client.CreateScheduleNamed(w.T.Context(), w.Client, "s", spec, "Job", in, opts...)
	if err != nil {
		w.T.Fatal(err)
	}
	synctest.Wait()
	return s
}

// pass lets time pass until a moment after the beginning, and all that is due then happen.
func (w *world) pass(until time.Duration) {
	time.Sleep(time.Until(begin.Add(until + 10*time.Millisecond))) //nolint:forbidigo // virtual
	synctest.Wait()
}

// began returns the IDs of the runs without the date and the schedule's name, such as "00:05:00".
func (w *world) began() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	// Runs that were started together begin in any order.
	dueOf := func(id string) string {
		if strings.HasPrefix(id, "s/") {
			return id
		}
		return ""
	}
	slices.SortStableFunc(w.runs, func(a, b string) int { return cmp.Compare(dueOf(a), dueOf(b)) })
	var all []string
	for _, id := range w.runs {
		rest := strings.TrimPrefix(id, "s/2000-01-01T")
		due, more, _ := strings.Cut(rest, "/")
		if due = strings.TrimSuffix(due, "Z"); more != "" {
			due += "+"
		}
		all = append(all, due)
	}
	return strings.Join(all, " ")
}

func (w *world) wantBegan(want string) {
	w.T.Helper()
	if got := w.began(); got != want {
		d, err := w.Client.Schedule("s").Describe(w.T.Context())
		w.T.Fatalf("runs began at %q, not %q; the schedule: %+v, %v", got, want, d, err)
	}
}

// finish lets a held run end.
func (w *world) finish(id string) {
	w.T.Helper()
	if err := w.Client.Raise(w.T.Context(), "s/2000-01-01T"+id+"Z", "go", 1); err != nil {
		w.T.Fatal(err)
	}
	synctest.Wait()
}

func (w *world) describe(s client.Schedule) client.ScheduleDescription {
	w.T.Helper()
	d, err := s.Describe(w.T.Context())
	if err != nil {
		w.T.Fatal(err)
	}
	return d
}

func (w *world) encode(v any) []byte {
	w.T.Helper()
	data, err := json.Marshal(v)
	w.must(err)
	return data
}

func (w *world) must(err error) {
	w.T.Helper()
	if err != nil {
		w.T.Fatal(err)
	}
	synctest.Wait()
}
