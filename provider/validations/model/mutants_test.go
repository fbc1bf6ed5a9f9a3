package model

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

// A broken store is memory with a clock that the test moves and with some methods replaced.
type broken struct {
	*memory.Provider

	clock   *memory.Clock
	create  func(provider.CreateRequest) provider.CreateRequest
	created func(*provider.CreateResult)
	commit  func(provider.CommitTurnRequest) provider.CommitTurnRequest
	letters func(provider.DeadLettersRequest) provider.DeadLettersRequest
	tasks   func(*provider.FetchTasksResult)
	turns   func(*provider.FetchTurnsResult)
	report  func(provider.ReportTasksRequest) provider.ReportTasksRequest
	send    func(provider.SendRequest) provider.SendRequest
	list    func(*provider.ListResult)
	steer   func(provider.SteerRequest) provider.SteerRequest
	history func(*provider.ReadHistoryResult)
	asks    func(*provider.FetchAsksResult)

	features provider.Features
}

func newBroken() *broken {
	clock := memory.NewClock(time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC))
	p := memory.New(memory.Options{Clock: clock})
	return &broken{Provider: p, clock: clock, features: p.Features()}
}

// Unwrap makes the optional features of the store reachable.
func (b *broken) Unwrap() provider.Provider { return b.Provider }

func (b *broken) Features() provider.Features { return b.features }

func (b *broken) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	if b.create != nil {
		req = b.create(req)
	}
	res, err := b.Provider.Create(ctx, req)
	return bend(res, err, b.created)
}

func (b *broken) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	if b.commit != nil {
		req = b.commit(req)
	}
	return b.Provider.CommitTurn(ctx, req)
}

func (b *broken) DeadLetters(ctx context.Context, req provider.DeadLettersRequest) (provider.DeadLettersResult, error) {
	if b.letters != nil {
		req = b.letters(req)
	}
	return b.Provider.DeadLetters(ctx, req)
}

func (b *broken) ReportTasks(ctx context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
	if b.report != nil {
		req = b.report(req)
	}
	return b.Provider.ReportTasks(ctx, req)
}

func (b *broken) Send(ctx context.Context, req provider.SendRequest) (provider.SendResult, error) {
	if b.send != nil {
		req = b.send(req)
	}
	return b.Provider.Send(ctx, req)
}

func (b *broken) Steer(ctx context.Context, req provider.SteerRequest) (provider.SteerResult, error) {
	if b.steer != nil {
		req = b.steer(req)
	}
	return b.Provider.Steer(ctx, req)
}

// bend changes a result.
func bend[Res any](res Res, err error, change func(*Res)) (Res, error) {
	if change != nil && err == nil {
		change(&res)
	}
	return res, err
}

func (b *broken) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	res, err := b.Provider.FetchTurns(ctx, req)
	return bend(res, err, b.turns)
}

func (b *broken) FetchTasks(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
	res, err := b.Provider.FetchTasks(ctx, req)
	return bend(res, err, b.tasks)
}

func (b *broken) FetchAsks(ctx context.Context, req provider.FetchAsksRequest) (provider.FetchAsksResult, error) {
	res, err := b.Provider.FetchAsks(ctx, req)
	return bend(res, err, b.asks)
}

func (b *broken) List(ctx context.Context, req provider.ListRequest) (provider.ListResult, error) {
	res, err := b.Provider.List(ctx, req)
	return bend(res, err, b.list)
}

func (b *broken) ReadHistory(ctx context.Context, req provider.ReadHistoryRequest) (provider.ReadHistoryResult, error) {
	res, err := b.Provider.ReadHistory(ctx, req)
	return bend(res, err, b.history)
}

// A mutant breaks one thing.
type mutant struct {
	name   string
	steps  int // limit for the shortened sequence; 0: none
	breaks func(*broken)
}

func mutants() []mutant {
	return []mutant{
		{"timers fire later", 10, func(b *broken) {
			b.commit = func(r provider.CommitTurnRequest) provider.CommitTurnRequest {
				r.Timers = slices.Clone(r.Timers)
				for i := range r.Timers {
					r.Timers[i].Due += provider.Time(10 * time.Millisecond / time.Microsecond)
				}
				return r
			}
		}},
		{"a turn's second message is left out", 0, func(b *broken) {
			b.turns = func(res *provider.FetchTurnsResult) {
				for i := range res.Turns {
					res.Turns[i].Messages = res.Turns[i].Messages[:min(1, len(res.Turns[i].Messages))]
				}
			}
		}},
		{"continued executions look reset", 0, func(b *broken) {
			b.history = func(res *provider.ReadHistoryResult) {
				if res.Status == provider.StatusContinuedAsNew {
					res.Status = provider.StatusReset
				}
			}
		}},
		{"questions lose their payload", 0, func(b *broken) {
			b.asks = func(res *provider.FetchAsksResult) {
				for i := range res.Asks {
					res.Asks[i].Payload = nil
				}
			}
		}},
		{"commits ignore the expected length", 0, func(b *broken) {
			b.commit = func(r provider.CommitTurnRequest) provider.CommitTurnRequest {
				if res, err := b.Get(context.Background(), provider.GetRequest{Key: r.Key}); err == nil {
					r.Length = res.Instance.HistoryLength
				}
				return r
			}
		}},
		{"a delayed message is visible at once", 0, func(b *broken) {
			b.send = func(r provider.SendRequest) provider.SendRequest {
				r.Message.Delay = 0
				return r
			}
		}},
		{"the least urgent task comes first", 0, func(b *broken) {
			b.tasks = func(res *provider.FetchTasksResult) {
				slices.SortStableFunc(res.Tasks, func(x, y provider.LeasedTask) int { return cmp.Compare(y.Priority, x.Priority) })
			}
		}},
		{"a flood of one fairness key goes first", 0, func(b *broken) {
			b.tasks = func(res *provider.FetchTasksResult) {
				slices.SortStableFunc(res.Tasks, func(x, y provider.LeasedTask) int {
					return cmp.Or(cmp.Compare(x.Priority, y.Priority), cmp.Compare(x.ScheduledAt, y.ScheduledAt))
				})
			}
		}},
		{"what is released has begun", 0, func(b *broken) {
			b.report = func(r provider.ReportTasksRequest) provider.ReportTasksRequest {
				r.Items = slices.Clone(r.Items)
				for i := range r.Items {
					r.Items[i].Begun = true
				}
				return r
			}
		}},
		{"reports store no details", 0, func(b *broken) {
			b.report = func(r provider.ReportTasksRequest) provider.ReportTasksRequest {
				r.Items = slices.Clone(r.Items)
				for i := range r.Items {
					r.Items[i].Details = nil
				}
				return r
			}
		}},
		{"first turns lose their second event", 0, firsts(func(f *provider.CommitTurnRequest) { f.Events = f.Events[:min(1, len(f.Events))] })},
		{"first turns send nothing", 0, firsts(func(f *provider.CommitTurnRequest) { f.Sends = nil })},
		{"repeated starts do not tell that they have begun", 0, func(b *broken) {
			told := map[provider.UUID]bool{}
			b.created = func(res *provider.CreateResult) {
				res.Begun = res.Begun && !told[res.Instance.Version]
				told[res.Instance.Version] = true
			}
		}},
		{"redriven letters are thrown away", 0, func(b *broken) {
			b.letters = func(r provider.DeadLettersRequest) provider.DeadLettersRequest {
				if r.Action == provider.DeadLettersRedrive {
					r.Action = provider.DeadLettersDiscard
				}
				return r
			}
		}},
		{"terminated children hear nothing", 0, func(b *broken) {
			b.steer = func(r provider.SteerRequest) provider.SteerRequest {
				r.ChildNotice = nil
				return r
			}
		}},
		{"pages end too early", 0, func(b *broken) {
			b.list = func(res *provider.ListResult) { res.Cursor = "" }
		}},
	}
}

// firsts changes the first turns of starts.
func firsts(change func(*provider.CommitTurnRequest)) func(*broken) {
	return func(b *broken) {
		b.create = func(r provider.CreateRequest) provider.CreateRequest {
			if r.First != nil {
				first := *r.First
				change(&first)
				r.First = &first
			}
			return r
		}
	}
}

// Run finds each mutant. Where shortening is quick, the printed sequence is short.
func TestFindsAndShrinksMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("-short draws a fifth of the sequences, which is too few for the rare ones")
	}
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) {
			o := options{count: 3000, advance: moveClock, shrink: 15 * time.Second}
			if m.steps == 0 {
				o.shrink = time.Nanosecond
			}
			said := &listener{name: t.Name()}
			done := make(chan struct{})
			go func() { // rapid ends the goroutine of a test that fails
				defer close(done)
				check(t, &o, said, func(t testing.TB) []provider.Provider {
					b := newBroken()
					t.Cleanup(func() { _ = b.Provider.Close() })
					m.breaks(b)
					return []provider.Provider{b}
				})
			}()
			<-done
			if !said.failed {
				t.Fatal("the model did not find the mutant")
			}
			if steps := len(step.FindAllString(said.text.String(), -1)); m.steps > 0 && steps > m.steps {
				t.Errorf("%d steps, want at most %d", steps, m.steps)
			}
			t.Logf("%.3000s", said.text.String())
		})
	}
}

// step begins the line of a step that does something.
var step = regexp.MustCompile(`\n *\d+  (create|get|send|steer|fetch|commit|release|report|renew|ask|read|list|stats|delete|prune|dead|lease|record)`)

func moveClock(p provider.Provider, d time.Duration) { p.(*broken).clock.Advance(d) }

// A correct store does not differ, whatever the seed: otherwise the model would depend on chance.
func TestFindsNothingInASoundStore(t *testing.T) {
	Run(t, func(t testing.TB) provider.Provider {
		b := newBroken()
		t.Cleanup(func() { _ = b.Provider.Close() })
		return b
	}, Count(50), Advance(moveClock))
}

// A store without features gets no first turns and no stickiness.
func TestFeaturesAreOptional(t *testing.T) {
	Run(t, func(t testing.TB) provider.Provider {
		b := newBroken()
		t.Cleanup(func() { _ = b.Provider.Close() })
		b.features = provider.Features{}
		b.create = func(r provider.CreateRequest) provider.CreateRequest {
			r.First = nil
			return r
		}
		return b
	}, Count(50), Advance(moveClock))
}

// A listener is a test that only records its log and whether it failed.
type listener struct {
	name   string
	failed bool
	text   strings.Builder
}

func (l *listener) Helper()      {}
func (l *listener) Name() string { return l.name }
func (l *listener) Logf(format string, args ...any) {
	fmt.Fprintf(&l.text, format+"\n", args...)
}
func (l *listener) Log(args ...any)                   { fmt.Fprintln(&l.text, args...) }
func (l *listener) Skipf(format string, args ...any)  { l.SkipNow() }
func (l *listener) Skip(args ...any)                  { l.SkipNow() }
func (l *listener) SkipNow()                          { runtime.Goexit() }
func (l *listener) Errorf(format string, args ...any) { l.failed = true }
func (l *listener) Error(args ...any)                 { l.failed = true }
func (l *listener) Fatalf(format string, args ...any) { l.FailNow() }
func (l *listener) Fatal(args ...any)                 { l.FailNow() }
func (l *listener) FailNow()                          { l.failed = true; runtime.Goexit() }
func (l *listener) Fail()                             { l.failed = true }
func (l *listener) Failed() bool                      { return l.failed }

var _ rapid.TB = (*listener)(nil)
