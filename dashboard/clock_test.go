package dashboard

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/provider/memory"
)

// ahead is the clock of a store that is ahead of that of this process.
type ahead struct{ by *atomic.Int64 }

func (a ahead) Now() time.Time { return time.Now().Add(time.Duration(a.by.Load())) }

func (ahead) Timer(d time.Duration) (<-chan time.Time, func()) {
	timer := time.NewTimer(d)
	return timer.C, func() { timer.Stop() }
}

func lose(*orchestration.Context, orchestration.None) (orchestration.None, error) {
	return orchestration.None{}, errors.New("lost on purpose")
}

// The last day of the overview is one by the clock of the store. By that of this process, which may be years behind, a failure of last week
// would be one of the last day.
func TestLastDayIsByTheClockOfTheStore(t *testing.T) {
	t.Parallel()
	clock := ahead{new(atomic.Int64)}
	const years = 3 * 365 * 24 * time.Hour
	clock.by.Store(int64(years))
	store := memory.New(memory.Options{Clock: clock})
	defer func() { _ = store.Close() }()
	orchestrationtest.RunRealTime(t, store, func(e *orchestrationtest.Env) {
		h := orchestrationtest.Start(e, orchestration.Define("Lose", lose), orchestration.None{}, client.WithID("lost-1"))
		if _, err := h.Wait(e.Context()); !errors.Is(err, client.ErrFailed) {
			t.Fatal(err)
		}
		e.Node().Stop()
		failed := func() bool {
			page := (&world{t, e.Client()}).site(Options{Authorize: as(client.RoleViewer)}).get("/").body
			_, after, found := strings.Cut(page, "Failed within a day")
			section, _, _ := strings.Cut(after, "</ul>")
			return found && strings.Contains(section, "lost-1")
		}
		if !failed() {
			t.Error("a failure of today is not listed")
		}
		clock.by.Add(int64(7 * 24 * time.Hour))
		if failed() {
			t.Error("a failure of last week is listed as one of the last day")
		}
	})
}
