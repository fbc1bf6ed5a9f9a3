package orchestrationtest_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestrationtest"
)

// Calls that wait within a time limit of their own return then.
func TestFollowEnds(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		h := orchestrationtest.Start(e, sleepsAYear, 1)
		_, mark, err := h.Follow(e.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the first turn may come between
			began := time.Now()
			if _, mark, err = h.Follow(e.Context(), mark, client.FollowFor(time.Minute)); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > time.Minute {
				t.Errorf("it took %v, want a minute at most", took)
			}
		}
	})
}
