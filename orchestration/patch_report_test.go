package orchestration_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/operate"
)

// The report names the running instances that were started before the first marker and have none. Nothing else shows
// whether the old branch of a patch may go: instances that took it leave no trace.
func TestHazard79_ReportOfTheOldBranch(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		c := e.Client(client.Options{})
		run := func(do step, ids ...string) {
			rt := e.Start(release(e, do))
			for _, id := range ids {
				h, err := client.StartNamed[[]int](e.T.Context(), c, "main", none{}, client.WithID(id))
				if err != nil {
					e.T.Fatal(err)
				}
				e.Until("the first step is done", func() bool { return hasDone(e, h.Key()) })
			}
			e.Stop(rt)
			looks := 0
			e.Until("time has passed", func() bool { looks++; return looks > 1 })
		}
		run(oldStep, "old-1", "old-2")
		run(eitherStep, "new-1", "new-2", "new-3")
		run(oldStep, "late")
		read := 0
		report, err := operate.New(c).Patches(e.T.Context(), operate.PatchScan{Orchestration: "main", Progress: func(n int) { read = n }})
		if err != nil || report.Read != 6 || read != 6 || report.Cut || len(report.Patches) != 1 {
			e.T.Fatalf("%+v, %v, told of %d", report, err, read)
		}
		u := report.Patches[0]
		if u.Orchestration != "main" || u.Patch != "change" || u.Marked != 3 || u.MayNeedOld != 2 || u.Later != 1 ||
			!slices.Equal(u.Examples, []string{"old-2", "old-1"}) || u.FirstSeen.IsZero() {
			e.T.Errorf("%+v", u)
		}
		if report, err = operate.New(c).Patches(e.T.Context(), operate.PatchScan{Limit: 2}); err != nil || !report.Cut || report.Read != 2 {
			e.T.Errorf("with a limit %+v, %v", report, err)
		}
		if _, err = operate.New(c).Patches(e.T.Context(), operate.PatchScan{Limit: -1}); !errors.Is(err, client.ErrInvalid) {
			e.T.Errorf("a negative limit: %v", err)
		}
	})
}
