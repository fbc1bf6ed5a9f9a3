package aggregate_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/examples/aggregate"
	"github.com/perdure/perdure/orchestrationtest"
)

// ask returns the length of a source's name, or behaves as the name says.
func ask(ctx context.Context, source string) (int, error) {
	switch {
	case source == "dead", source == "flaky" && activity.GetInfo(ctx).Attempt == 1:
		return 0, errors.New("no answer")
	case source == "slow":
		<-ctx.Done()
		return 0, context.Cause(ctx)
	}
	return len(source), nil
}

func TestSummaryOfThoseThatAnswerInTime(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		var s *aggregate.Sources
		began := time.Now()
		calls := orchestrationtest.Replace(e, s.Figure, ask)
		sum, err := orchestrationtest.Start(e, aggregate.Summarize, []string{"north", "dead", "south", "flaky", "slow"}).Wait(e.Context())
		missing := []string{"dead: no answer", "slow: scope timed out after 5s"}
		if sum.Total != 15 || !slices.Equal(sum.Missing, missing) || err != nil || time.Since(began) != 5*time.Second {
			t.Errorf("%+v, %v after %v", sum, err, time.Since(began))
		}
		asked := map[string]int{}
		for _, c := range calls.Calls() {
			asked[c.In]++
		}
		if want := map[string]int{"north": 1, "dead": 3, "south": 1, "flaky": 2, "slow": 1}; !maps.Equal(asked, want) {
			t.Errorf("asked are %v, want %v", asked, want)
		}
	})
}

// The second attempt asks only those that have not answered the first one.
func TestTotalInOneActivity(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		var mu sync.Mutex // the activity asks from several goroutines
		asked := map[string]int{}
		s := &aggregate.Sources{Ask: func(ctx context.Context, source string) (int, error) {
			mu.Lock()
			asked[source]++
			mu.Unlock()
			return ask(ctx, source)
		}}
		orchestrationtest.AddActivity(e, s.All)
		total, err := orchestrationtest.Start(e, aggregate.Total, []string{"north", "flaky", "south"}).Wait(e.Context())
		if want := map[string]int{"north": 1, "flaky": 2, "south": 1}; total != 15 || err != nil || !maps.Equal(asked, want) {
			t.Errorf("%d, %v, asked are %v, want %v", total, err, asked, want)
		}
	})
}
