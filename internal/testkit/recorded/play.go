package recorded

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/fastpath"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// Off are the fast paths that a recorded node does without: what they do depends on what else the node does. First turns are among them
// only if first is false.
func Off(first bool) fastpath.Set {
	off := fastpath.All &^ fastpath.Local
	if first {
		off &^= fastpath.Eager
	}
	return off
}

// Options returns the options of a recorded node. The time for local activities ends at no moment at which something else does in a test.
func Options() runtime.Options {
	return runtime.Options{
		Cache: runtime.CacheOptions{Executions: runtime.Off}, LocalActivityTime: 1_777_777 * time.Microsecond, Logger: slog.New(slog.DiscardHandler),
	}
}

// longest is how long a turn may take, in virtual time.
const longest = 10 * time.Minute

// Difference is a turn for which the node made other calls than the recorded ones.
type Difference struct {
	Turn   int    // its place in the stream
	What   string // "": only what a change explains
	Commit string // of that change
}

// Play gives the turns of a stream to a new node that has the code of a registry. It returns those for which the node makes other calls.
// It runs in a synctest bubble.
func Play(t testing.TB, s *Stream, reg *runtime.Registry, opts runtime.Options, changes ...Change) (different []Difference) {
	t.Helper()
	if len(s.Turns) == 0 {
		return nil
	}
	clock := shifted{time.Until(s.Turns[0].Now.Std())}
	p := newPlayer(s, clock, changes)
	ctx := context.WithoutCancel(t.Context()) // a test may play in its cleanup
	if _, _, err := upgrade.Finish(ctx, provider.FullOf(p.Provider), s.Level, false); err != nil {
		t.Fatal(err)
	}
	first := slices.ContainsFunc(s.Turns, func(t *Turn) bool { return t.First != nil })
	rt, err := runtime.Start(fastpath.Without(ctx, Off(first)), p, reg, opts)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait() // the node has to know the time before it makes a first turn
	starter := bind.StarterIn(rt.Node())
	for i, turn := range s.Turns {
		if what, commit := p.play(ctx, turn, clock, starter); what+commit != "" {
			different = append(different, Difference{i, what, commit})
		}
	}
	if err := rt.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	for _, stray := range p.strays {
		t.Errorf("outside of all turns: %s", stray)
	}
	return different
}

// play gives one turn to the node. It returns what end returns.
func (p *player) play(ctx context.Context, turn *Turn, clock shifted, node bind.Starter) (what, commit string) {
	wait(turn.Now.Std().Sub(clock.Now()), nil)
	ended := p.begin(turn)
	if turn.First != nil {
		first, err := decode[provider.CreateRequest](encode(turn.First))
		if err == nil {
			_, _, err = node.StartWithFirstTurn(ctx, first)
		}
		if _, refused := refusalOf(err); !refused {
			what, commit = p.end()
			return what + "\n" + err.Error(), commit
		}
	} else if offered := p.offer(turn); offered {
		wait(longest, ended)
	}
	synctest.Wait() // what the node does beyond the recorded calls
	return p.end()
}

// offer gives a turn to the next fetch. It reports whether one has come.
func (p *player) offer(turn *Turn) bool {
	timer := time.NewTimer(longest)
	defer timer.Stop()
	select {
	case p.offered <- turn:
		return true
	case <-timer.C:
		return false
	}
}

// wait waits until the time has passed, or until a channel is closed.
func wait(d time.Duration, closed <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-closed:
	}
}
