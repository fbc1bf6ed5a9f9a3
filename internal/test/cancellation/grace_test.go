package cancellation

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// journal keeps what a node logs.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// lines returns the log lines that contain all of the words.
func (j *journal) lines(words ...string) (found []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for line := range strings.Lines(j.text.String()) {
		all := true
		for _, word := range words {
			all = all && strings.Contains(line, word)
		}
		if all {
			found = append(found, line)
		}
	}
	return found
}

// listened makes the nodes log to a journal.
func (r *rig) listened() *journal {
	j := &journal{}
	r.Options.Logger = slog.New(slog.NewTextHandler(j, nil))
	return j
}

const leftBehind = "user code leaked"

// An activity that ignores its cancellation is abandoned after the grace period.
func TestActivity_GracePeriod(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(r *rig){
		"activity_completes_within_grace_period": comesBackInTime,
		"activity_exceeds_grace_period":          comesBackLate,
		"leaked_activity_cleaned_up_on_shutdown": leaksAtShutdown,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyStore(t, test)
		})
	}
}

func comesBackInTime(r *rig) {
	log := r.listened()
	rest := r.ample()
	l := r.listen("work", func(cause error) (string, error) {
		r.pause(rest)
		return "", cause
	})
	key := r.main(func(ctx *octx, _ none) (string, error) { return call(ctx, "work", "") })
	<-l.began
	r.Cancel(key, "enough")
	r.hear(l)
	r.Until("it has come back", func() bool { return r.worker.Stats().AttemptsRunning == 0 })
	r.WaitEnded(key)
	if s := r.worker.Stats(); s.AttemptsLeaked != 0 || s.ResultsLate != 0 {
		r.T.Errorf("%d left behind, %d late", s.AttemptsLeaked, s.ResultsLate)
	}
	if said := log.lines(leftBehind); len(said) != 0 {
		r.T.Errorf("logged %s", said)
	}
}

// comesBackLate: the slot is free when the grace period is over. A later result of the activity is discarded and
// counted.
func comesBackLate(r *rig) {
	log := r.listened()
	r.Options.MaxConcurrentActivities = 1
	release := make(chan struct{})
	l := r.listen("work", func(error) (string, error) {
		<-release
		return "far too late", nil
	})
	enginetest.Activity(r.T, r.activities, "next", func(context.Context, string) (string, error) { return "done", nil })
	enginetest.Orchestration(r.T, r.orchestrations, "other", func(ctx *octx, _ none) (string, error) { return call(ctx, "next", "") })
	key := r.main(func(ctx *octx, _ none) (string, error) { return call(ctx, "work", "one") })
	<-l.began
	other := r.Create("other", "other", none{})
	asked := time.Now()
	r.Cancel(key, "enough")
	cancelled := r.hear(l)
	if got := enginetest.Output[string](r.engine, other); got != "done" {
		r.T.Errorf("the next activity returned %q", got)
	}
	if waited, ok := r.waited(asked, cancelled); !ok {
		r.T.Errorf("the slot was free after %v, want the grace period of %v", waited, r.grace())
	}
	r.Until("it is logged", func() bool { return len(log.lines("ERROR", leftBehind, "activity=work", "instance=main")) == 1 })
	if s := r.worker.Stats(); s.AttemptsLeaked != 1 || s.ResultsLate != 0 {
		r.T.Errorf("%d left behind, %d late", s.AttemptsLeaked, s.ResultsLate)
	}
	close(release)
	r.Until("its result is discarded", func() bool { return r.worker.Stats().ResultsLate == 1 })
	if said := log.lines("WARN", "discarded", "activity=work", "instance=main"); len(said) != 1 {
		r.T.Errorf("logged %q", said)
	}
	if i := r.WaitEnded(key); i.Status != provider.StatusCancelled {
		r.T.Errorf("ended as %v", i.Status)
	}
}

// leaksAtShutdown: Go cannot end a goroutine. Shutdown waits as long as the watchdog does, then returns and names the
// leak.
func leaksAtShutdown(r *rig) {
	r.leaks = true
	log := r.listened()
	r.Options.Shutdown.WatchdogTimeout = 500 * time.Millisecond
	release := make(chan struct{})
	l := r.listen("work", func(error) (string, error) {
		<-release
		return "", errors.New("at last")
	})
	key := r.main(func(ctx *octx, _ none) (string, error) { return call(ctx, "work", "") })
	<-l.began
	r.Cancel(key, "enough")
	r.WaitEnded(key)
	r.Until("it is left behind", func() bool { return r.worker.Stats().AttemptsLeaked == 1 })
	began := time.Now()
	if err := r.worker.Shutdown(r.T.Context()); !errors.Is(err, runtime.ErrLeaked) {
		r.T.Errorf("shutdown returned %v", err)
	}
	if took := time.Since(began); !r.soon(took, r.Options.Shutdown.WatchdogTimeout) {
		r.T.Errorf("shutdown took %v though the watchdog has %v", took, r.Options.Shutdown.WatchdogTimeout)
	}
	if said := log.lines("ERROR", leftBehind, "activity=work", "instance=main"); len(said) != 1 {
		r.T.Errorf("logged %q", said)
	}
	close(release)
	r.Until("its goroutine ends", func() bool { return r.worker.Stats().ResultsLate == 1 })
}

// A call that waits for the end of its activity returns when the grace period is over, whatever the activity does.
func TestActivity_WaitForEndEndsWithTheGracePeriod(t *testing.T) {
	t.Parallel()
	everyStore(t, func(r *rig) {
		release := make(chan struct{})
		l := r.listen("work", func(error) (string, error) {
			<-release
			return "far too late", nil
		})
		key := r.main(func(ctx *octx, _ none) (string, error) {
			return call(ctx, "work", "", orchestration.WithCancellation(orchestration.WaitForEnd))
		})
		<-l.began
		asked := time.Now()
		r.Cancel(key, "enough")
		cancelled := r.hear(l)
		i := r.WaitEnded(key)
		if waited, ok := r.waited(asked, cancelled); i.Status != provider.StatusCancelled || !ok {
			r.T.Errorf("ended as %v after %v", i.Status, waited)
		}
		close(release)
		r.Until("its result is discarded", func() bool { return r.worker.Stats().ResultsLate == 1 })
		_, err := enginetest.Result[string](r.engine, key, nil)
		if !errors.Is(err, orchestration.ErrCancelled) || !strings.Contains(err.Error(), "grace period") {
			r.T.Errorf("the call ended with %v", err)
		}
	})
}
