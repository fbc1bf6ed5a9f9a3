package dashboard

import (
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
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
	t.Cleanup(func() { _ = store.Close() })
	reg := runtime.NewRegistry()
	if err := runtime.AddOrchestration(reg, orchestration.Define("Lose", lose)); err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	rt, err := runtime.Start(t.Context(), store, reg, runtime.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	c, err := rt.Client(client.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	h, err := client.StartNamed[orchestration.None](t.Context(), c, "Lose", orchestration.None{}, client.WithID("lost-1"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Wait(t.Context()); !errors.Is(err, client.ErrFailed) {
		t.Fatal(err)
	}
	if err := rt.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	failed := func() bool {
		page := (&world{t, c}).site(Options{Authorize: as(client.RoleViewer)}).get("/").body
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
}
