package pending

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/tasktoken"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// The first end by token counts, whether the slot is held or not. The result is the same as if the function had
// returned it.
func TestEndedByToken(t *testing.T) {
	t.Parallel()
	eachMode(t, runtime.Options{}, func(e *enginetest.Engine, mode error) {
		a := newApproval(mode)
		reg := registry(e.T, a.work, orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 5}))
		rt := e.Start(reg)
		c := caller(e, reg)
		ctx := e.T.Context()

		key := e.Create("completed", "main", 1)
		token := <-a.tokens
		settled(e, key, mode)
		if err := client.CompleteActivity(ctx, c, token, "approved by ann"); err != nil {
			e.T.Error(err)
		}
		if got := enginetest.Output[string](e, key); got != "approved by ann" {
			e.T.Errorf("got %q", got)
		}

		key = e.Create("failed", "main", 1)
		token = <-a.tokens
		settled(e, key, mode)
		if err := client.FailActivity(ctx, c, token, fmt.Errorf("refused: %w", io.EOF)); err != nil {
			e.T.Error(err)
		}
		if _, err := enginetest.Result[string](e, key, reg.Errors()); !errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "refused") {
			e.T.Errorf("ended with %v", err)
		}
		e.Until("the slots are free", func() bool { return rt.Stats().AttemptsRunning == 0 })
		if n := len(a.tokens); n != 0 {
			e.T.Errorf("what was ended from outside ran %d times more", n)
		}
	})
}

// A refused end gives its reason: the activity, or its orchestration, has ended or was deleted, or the token is wrong.
func TestTokenIsRefused(t *testing.T) {
	t.Parallel()
	eachMode(t, runtime.Options{}, func(e *enginetest.Engine, mode error) {
		a := newApproval(mode)
		reg := registry(e.T, a.work)
		enginetest.Orchestration(e.T, reg, "twice", func(ctx *orchestration.Context, n int) (string, error) {
			if _, err := orchestration.CallActivityNamed[string](ctx, "approve", n); err != nil {
				return "", err
			}
			return orchestration.CallActivityNamed[string](ctx, "approve", n)
		})
		e.Start(reg)
		c := caller(e, reg)
		ctx := e.T.Context()
		key := e.Create("twice", "twice", 1)
		first := <-a.tokens
		forged, err := tasktoken.Decode(first)
		if err != nil {
			e.T.Fatal(err)
		}
		forged.Holder = enginetest.NewID()
		refused(e, "a forged token", client.CompleteActivity(ctx, c, tasktoken.Encode(forged), "x"), activity.ErrLeaseLost)
		for _, text := range []string{"", "?", first[1:], first[:len(first)-1], first + "A"} {
			refused(e, "a damaged token", client.CompleteActivity(ctx, c, text, "x"), client.ErrInvalid)
			refused(e, "a damaged token's heartbeat", client.HeartbeatActivity(ctx, c, text, "x"), client.ErrInvalid)
		}
		refused(e, "cancelled without a cancellation", client.ReportCancelled(ctx, c, first), activity.ErrNotCancelled)
		refused(e, "no error", client.FailActivity(ctx, c, first, nil), client.ErrInvalid)
		refused(e, "an output that is none", client.CompleteActivity(ctx, c, first, make(chan int)), client.ErrInvalid)
		refused(e, "a large output", client.CompleteActivity(ctx, c, first, strings.Repeat("x", 3<<20)), client.ErrTooLarge)
		refused(e, "large details", client.HeartbeatActivity(ctx, c, first, strings.Repeat("x", 1<<20)), client.ErrTooLarge)
		if err := client.CompleteActivity(ctx, c, first, "x"); err != nil {
			e.T.Error(err)
		}
		late := func(want error) {
			e.T.Helper()
			refused(e, "completing again", client.CompleteActivity(ctx, c, first, "x"), want)
			refused(e, "failing late", client.FailActivity(ctx, c, first, io.EOF), want)
			refused(e, "cancelled late", client.ReportCancelled(ctx, c, first), want)
			refused(e, "a late heartbeat", client.HeartbeatActivity(ctx, c, first, nil), want)
		}
		late(activity.ErrAlreadyCompleted)
		if err := client.CompleteActivity(ctx, c, <-a.tokens, "y"); err != nil {
			e.T.Error(err)
		}
		if got := enginetest.Output[string](e, key); got != "y" {
			e.T.Errorf("got %q", got)
		}
		late(client.ErrEnded)
		if _, err := e.Store.Delete(ctx, provider.DeleteRequest{Key: key}); err != nil {
			e.T.Error(err)
		}
		late(client.ErrNotFound)
		// The same ID again names another instance, whose activity has the same numbers.
		key = e.Create("twice", "twice", 1)
		another := <-a.tokens
		late(client.ErrNotFound)
		if err := client.CompleteActivity(ctx, c, another, "y"); err != nil {
			e.T.Error(err)
		}
		if err := client.CompleteActivity(ctx, c, <-a.tokens, "z"); err != nil {
			e.T.Error(err)
		}
		if got := enginetest.Output[string](e, key); got != "z" {
			e.T.Errorf("got %q", got)
		}
	})
}

// The timeout of an attempt voids its token, whether another attempt runs or the call has failed.
func TestHazard30_LaterAttemptVoidsTheToken(t *testing.T) {
	t.Parallel()
	each(t, runtime.Options{}, func(e *enginetest.Engine) {
		a := newApproval(activity.ErrPending)
		reg := registry(e.T, a.work)
		enginetest.Orchestration(e.T, reg, "late", func(ctx *orchestration.Context, n int) (string, error) {
			_, err := orchestration.CallActivityNamed[string](ctx, "approve", n, orchestration.WithStartToCloseTimeout(second),
				orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 2, InitialInterval: time.Millisecond}))
			if !errors.Is(err, orchestration.ErrTimeout) {
				return "", err
			}
			return orchestration.Events[string](ctx, "end").Receive(ctx)
		})
		e.Start(reg)
		c := caller(e, reg)
		key := e.Create("late", "late", 1)
		first, again := <-a.tokens, <-a.tokens
		refused(e, "the first attempt's token", client.CompleteActivity(e.T.Context(), c, first, "x"), activity.ErrTimeout)
		e.Until("the call has failed", func() bool { return len(e.Tasks(key)) == 0 && e.Get(key).HistoryLength == 3 })
		refused(e, "the second attempt's token", client.CompleteActivity(e.T.Context(), c, again, "x"), activity.ErrTimeout)
		refused(e, "its heartbeat", client.HeartbeatActivity(e.T.Context(), c, again, "x"), activity.ErrTimeout)
		e.Raise(key, "end", "done")
		if got := enginetest.Output[string](e, key); got != "done" {
			e.T.Errorf("got %q", got)
		}
	})
}

// A cancellation reaches the holder of the token by its heartbeat, and its report ends the call.
func TestCancellationByToken(t *testing.T) {
	t.Parallel()
	eachMode(t, runtime.Options{}, func(e *enginetest.Engine, mode error) {
		a := newApproval(mode)
		reg := registry(e.T, a.work)
		enginetest.Orchestration(e.T, reg, "fickle", func(ctx *orchestration.Context, n int) (string, error) {
			f := orchestration.StartActivityNamed[string](ctx, "approve", n)
			if _, err := orchestration.Events[string](ctx, "never mind").Receive(ctx); err != nil {
				return "", err
			}
			f.Cancel()
			return orchestration.Events[string](ctx, "end").Receive(ctx)
		})
		e.Start(reg)
		c := caller(e, reg)
		ctx := e.T.Context()
		key := e.Create("fickle", "fickle", 1)
		token := <-a.tokens
		settled(e, key, mode)
		if err := client.HeartbeatActivity(ctx, c, token, map[string]int{"page": 3}); err != nil {
			e.T.Error(err)
		}
		var details map[string]int
		if err := json.Unmarshal(e.Tasks(key)[0].Details, &details); err != nil || details["page"] != 3 {
			e.T.Errorf("%v: the stored details are %s", err, e.Tasks(key)[0].Details)
		}
		e.Raise(key, "never mind", "")
		e.Until("the heartbeat to report it", func() bool {
			return errors.Is(client.HeartbeatActivity(ctx, c, token, nil), activity.ErrCancelled)
		})
		if err := client.ReportCancelled(ctx, c, token); err != nil {
			e.T.Error(err)
		}
		refused(e, "reporting it twice", client.ReportCancelled(ctx, c, token), activity.ErrAlreadyCompleted)
		e.Raise(key, "end", "done")
		if got := enginetest.Output[string](e, key); got != "done" {
			e.T.Errorf("got %q", got)
		}
	})
}

// Two completions come at the same time. One of them succeeds, and its output is the result.
func TestHazard30_FirstEndCounts(t *testing.T) {
	t.Parallel()
	eachMode(t, runtime.Options{}, func(e *enginetest.Engine, mode error) {
		a := newApproval(mode)
		reg := registry(e.T, a.work)
		e.Start(reg)
		c := caller(e, reg)
		key := e.Create("raced", "main", 1)
		token := <-a.tokens
		const callers = 8
		won := make(chan string, callers)
		done := make(chan struct{})
		for i := range callers {
			go func() {
				defer func() { done <- struct{}{} }()
				out := fmt.Sprint("caller ", i)
				err := client.CompleteActivity(e.T.Context(), c, token, out)
				switch {
				case err == nil:
					won <- out
				case !errors.Is(err, activity.ErrAlreadyCompleted) && !errors.Is(err, client.ErrEnded):
					e.T.Error(err)
				}
			}()
		}
		for range callers {
			<-done
		}
		if got := enginetest.Output[string](e, key); len(won) != 1 || got != <-won {
			e.T.Errorf("got %q, and %d won", got, len(won)+1)
		}
	})
}
