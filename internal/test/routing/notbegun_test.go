package routing

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// book is a log that a test reads while it is written.
type book struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *book) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// lines returns how many lines have a text.
func (b *book) lines(text string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for line := range strings.Lines(b.text.String()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

func (b *book) logger() *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }

// reasonOf returns why the only activity of an instance has not begun, as the instance and its queue tell it.
func reasonOf(e *engine, c *client.Client, id string) client.NotBegunReason {
	e.T.Helper()
	d, err := c.Describe(e.T.Context(), id)
	if err != nil || len(d.Activities) != 1 || d.Activities[0].NotBegun == nil {
		e.T.Fatalf("%+v, %v: want one activity that has not begun", d.Activities, err)
	}
	why := d.Activities[0].NotBegun
	for _, w := range d.Waits {
		if why.Reason != client.NotBegunNext && !strings.Contains(w.Text, why.Text) {
			e.T.Errorf("it waits for %q, which does not say %q", w.Text, why.Text)
		}
	}
	queues, err := operate.New(c).Queues(e.T.Context())
	if err != nil {
		e.T.Fatal(err)
	}
	for _, q := range queues {
		if q.Queue == "mail" && len(q.NotBegun) == 1 && q.NotBegun[0].NotBegun.Reason == why.Reason && q.NotBegun[0].Waiting == 1 {
			return why.Reason
		}
	}
	e.T.Fatalf("the queues tell %+v, the instance %+v", queues, why)
	return ""
}

// mailRegistry has an activity "send" in a queue, which blocks until done is closed, and orchestrations that call it in queue "mail".
func mailRegistry(e *engine, queue string, done <-chan struct{}) *runtime.Registry {
	reg := runtime.NewRegistry()
	enginetest.Orchestration(e.T, reg, "mail", func(ctx *octx, session string) (none, error) {
		opts := []orchestration.ActivityOption{orchestration.WithQueue("mail")}
		if session != "" {
			opts = append(opts, orchestration.WithSession(session))
		}
		return orchestration.CallActivityNamed[none](ctx, "send", none{}, opts...)
	})
	if queue != "" {
		enginetest.Activity(e.T, reg, "send", func(ctx context.Context, _ none) (none, error) {
			select {
			case <-done:
				return none{}, nil
			case <-ctx.Done():
				return none{}, context.Cause(ctx)
			}
		}, runtime.OnQueue(queue))
	}
	return reg
}

// An activity whose call or registration names the wrong queue waits. The instance and the queue say so at once, and the log says so once.
func TestUnservedActivityIsNamed(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *engine) {
		var log book
		done := make(chan struct{})
		close(done)
		opts := e.Options
		opts.Logger = log.logger()
		e.StartOn(e.Store, mailRegistry(e, "default", done), opts)
		second := e.Options
		second.Logger = log.logger()
		e.StartOn(e.Store, mailRegistry(e, "", nil), second)
		c := e.Client(client.Options{})
		key := e.Create("one", "mail", "")
		e.Until("the activity is queued", func() bool { return len(e.Tasks(key)) == 1 })
		if got := reasonOf(e, c, "one"); got != client.NotBegunNoNode {
			e.T.Errorf("the reason is %s, want noNode", got)
		}
		if n := log.lines("no node serves"); n != 0 {
			e.T.Errorf("%d lines at once, want none", n)
		}
		time.Sleep(21 * time.Second) //nolint:forbidigo // virtual time
		if n := log.lines("no node serves"); n != 1 || log.lines("OnQueue") != 1 || log.lines("level=WARN") != 1 {
			e.T.Errorf("%d lines of two nodes, want 1: %s", n, log.text.String())
		}
		time.Sleep(5 * time.Minute) //nolint:forbidigo // virtual time
		if n := log.lines("no node serves"); n != 1 {
			e.T.Errorf("%d lines after five minutes, want 1", n)
		}
		e.StartOn(e.Store, mailRegistry(e, "mail", done), e.Options)
		e.WaitEnded(key)
	})
}

// Pauses, drains, limits and full nodes are told apart.
func TestReasonsOfWaitingActivities(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		opts    runtime.Options
		session bool
		order   func(e *engine, c *client.Client, owner string) error
		want    client.NotBegunReason
	}{
		{"paused", runtime.Options{}, false, func(e *engine, c *client.Client, _ string) error {
			_, err := operate.New(c).PauseQueue(e.T.Context(), "mail", "the bank is down")
			return err
		}, client.NotBegunPaused},
		{"draining", runtime.Options{}, false, func(e *engine, c *client.Client, owner string) error {
			_, err := operate.New(c).DrainNode(e.T.Context(), owner, "")
			return err
		}, client.NotBegunDraining},
		{"full", runtime.Options{MaxConcurrentActivities: 1}, false, nil, client.NotBegunFull},
		{"limit", runtime.Options{QueueLimits: map[string]runtime.QueueLimit{"mail": {MaxConcurrent: 1}}}, false, nil, client.NotBegunLimit},
		{"session", runtime.Options{Sessions: runtime.SessionOptions{Max: 1}}, true, nil, client.NotBegunSession},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *engine) {
				var log book
				done := make(chan struct{})
				opts, turns := c.opts, e.Options
				opts.Logger, turns.Logger = log.logger(), log.logger()
				e.StartOn(e.Store, mailRegistry(e, "", nil), turns)
				reg := runtime.NewRegistry()
				enginetest.Activity(e.T, reg, "send", func(ctx context.Context, _ none) (none, error) {
					<-done
					return none{}, nil
				}, runtime.OnQueue("mail"))
				node := e.StartOn(e.Store, reg, opts)
				cl := e.Client(client.Options{})
				session := ""
				if c.session {
					session = "a"
				}
				first := e.Create("first", "mail", session)
				e.Until("the first activity runs", func() bool {
					tasks := e.Tasks(first)
					return len(tasks) == 1 && tasks[0].Owner != ""
				})
				if c.order != nil {
					if err := c.order(e, cl, node.Owner()); err != nil {
						e.T.Fatal(err)
					}
				}
				if c.session {
					session = "b"
				}
				key := e.Create("second", "mail", session)
				e.Until("the second activity is queued", func() bool { return len(e.Tasks(key)) == 1 })
				time.Sleep(45 * time.Second) //nolint:forbidigo // virtual time; nodes have written what they run
				if got := reasonOf(e, cl, "second"); got != c.want {
					e.T.Errorf("the reason is %s, want %s", got, c.want)
				}
				lines := 0
				if c.session {
					lines = 1
				}
				if n := log.lines("wait for a place of their session"); n != lines {
					e.T.Errorf("%d lines about sessions, want %d: %s", n, lines, log.text.String())
				}
				close(done)
				if _, err := operate.New(cl).ResumeQueue(e.T.Context(), "mail", ""); err != nil {
					e.T.Fatal(err)
				}
				if _, err := operate.New(cl).UndrainNode(e.T.Context(), node.Owner(), ""); err != nil {
					e.T.Fatal(err)
				}
				e.WaitEnded(first)
				e.WaitEnded(key)
			})
		})
	}
}
