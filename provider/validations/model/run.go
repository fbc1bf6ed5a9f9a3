package model

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/provider"
)

//nolint:gochecknoglobals // flags
var (
	firstSeed = flag.Uint64("model.seed", 1, "seed of the first random sequence; it determines the others")
	howMany   = flag.Int("model.count", 0, "number of random sequences; 0: as the test says")
)

type options struct {
	count   int
	seed    uint64        // of the first sequence; 0: as the flag says
	shrink  time.Duration // time limit for shortening a sequence
	budget  time.Duration // after this time no sequence goes on; 0: each is played to its end
	advance func(provider.Provider, time.Duration)
	others  []func(t testing.TB, first provider.Provider) provider.Provider
}

// Option changes how Run compares a provider with the model.
type Option func(*options)

// Count sets the number of sequences unless -model.count does; 50 if not given.
func Count(n int) Option { return func(o *options) { o.count = n } }

// Advance sets how to move the clock of a provider whose time stands still otherwise. Without it the provider's time passes by
// itself.
func Advance(by func(p provider.Provider, d time.Duration)) Option {
	return func(o *options) { o.advance = by }
}

// Handles makes Run play through several handles of one store: the one that open made and those that these functions open, each
// given the first. Every call draws its handle. So the handles know different things, as the processes of a service do. A
// handle may live in another process or lose all notices. The calls of a sequence come one after the other, and each must
// see what those before it have stored.
func Handles(open ...func(t testing.TB, first provider.Provider) provider.Provider) Option {
	return func(o *options) { o.others = open }
}

// Run compares a provider with the model. open makes a new, empty provider for each sequence. It cleans up through t, whose
// Cleanup and TempDir last as long as the sequence.
//
// A failure names the flags that repeat it: -model.seed=N -model.count=1.
func Run(t *testing.T, open func(t testing.TB) provider.Provider, opts ...Option) {
	t.Helper()
	o := options{count: 50, shrink: 30 * time.Second}
	for _, opt := range opts {
		opt(&o)
	}
	if *howMany > 0 {
		o.count = *howMany
	}
	t.Logf("%d sequences, beginning with seed %d", o.count, *firstSeed)
	check(t, &o, t, func(s testing.TB) []provider.Provider { return o.handles(s, open(s)) })
}

// handles returns the first handle of a store and all others.
func (o *options) handles(t testing.TB, first provider.Provider) []provider.Provider {
	t.Helper()
	list := make([]provider.Provider, 0, 1+len(o.others))
	list = append(list, first)
	for _, open := range o.others {
		list = append(list, open(t, first))
	}
	return list
}

// Quick plays this many sequences, as far as they come in this time.
const (
	quick     = 12
	quickTime = 5 * time.Second
)

// Quick is a short form of Run, for a few seconds. It draws a seed unless -model.seed is given. With a seed it takes all the time
// that the sequences need. open makes a new, empty provider for each sequence and cleans up through t, which lasts as long as
// the sequence.
func Quick(t *testing.T, open func(t *testing.T) provider.Provider, opts ...Option) {
	t.Helper()
	o := options{shrink: 10 * time.Second}
	for _, opt := range opts {
		opt(&o)
	}
	o.count, o.seed = cmp.Or(*howMany, quick), *firstSeed
	if !given("model.seed") {
		o.seed, o.budget = 1+rand.Uint64N(1<<40), quickTime
	}
	t.Logf("%d sequences, beginning with seed %d: repeat them with -model.seed=%d", o.count, o.seed, o.seed)
	check(t, &o, t, func(s testing.TB) []provider.Provider {
		return lent(t, s, func(t *testing.T) []provider.Provider {
			t.Helper()
			return o.handles(t, open(t))
		})
	})
}

// lent opens the handles of a store in a test of their own, which ends with the sequence.
func lent(t *testing.T, sequence testing.TB, open func(t *testing.T) []provider.Provider) []provider.Provider { //nolint:thelper // of two tests
	t.Helper()
	opened, over, ended := make(chan []provider.Provider, 1), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t.Run("sequence", func(t *testing.T) {
			opened <- open(t)
			<-over
		})
	}()
	sequence.Cleanup(func() {
		close(over)
		<-ended
	})
	select {
	case p := <-opened:
		return p
	case <-ended:
		sequence.Fatal("no provider was opened")
		return nil
	}
}

// given reports whether the command line sets a flag.
func given(name string) (found bool) {
	flag.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// check plays sequences until one shows a difference, and reports it to tb. The providers clean up through t.
func check(t *testing.T, o *options, tb rapid.TB, open func(t testing.TB) []provider.Provider) {
	tb.Helper()
	defer configure(o)()
	quiet, began := &terse{TB: tb}, time.Now()
	defer quiet.close()
	over := func() bool { return o.budget > 0 && quiet.first == "" && time.Since(began) > o.budget }
	rapid.Check(quiet, func(rt *rapid.T) {
		if over() {
			return
		}
		s := &scope{T: t}
		defer s.end()
		play(rt, open(s), o, over, func(story string) {
			if quiet.first == "" {
				quiet.first = story
			}
		})
	})
}

// rapidFlags guards rapid's settings, which are flags of the process.
//
//nolint:gochecknoglobals // see above
var rapidFlags sync.Mutex

// configure sets rapid's number of sequences, first seed and time limit for shortening until restore is called.
func configure(o *options) (restore func()) {
	rapidFlags.Lock()
	count := o.count
	if testing.Short() {
		count = max(count, 5) // rapid plays one in five
	}
	old := map[string]string{}
	for name, value := range map[string]string{
		"rapid.checks": fmt.Sprint(count), "rapid.seed": fmt.Sprint(cmp.Or(o.seed, *firstSeed)), "rapid.nofailfile": "true",
		"rapid.shrinktime": o.shrink.String(),
	} {
		old[name] = flag.Lookup(name).Value.String()
		_ = flag.Set(name, value) // these are well-formed
	}
	return func() {
		for name, value := range old {
			_ = flag.Set(name, value)
		}
		rapidFlags.Unlock()
	}
}

// scope is a test whose cleanups and directories last for one sequence only.
type scope struct {
	*testing.T

	cleanups []func()
}

// Cleanup implements [testing.TB].
func (s *scope) Cleanup(f func()) { s.cleanups = append(s.cleanups, f) }

// TempDir implements [testing.TB].
func (s *scope) TempDir() string {
	s.Helper()
	dir, err := os.MkdirTemp("", "model")
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			s.Error(err)
		}
	})
	return dir
}

func (s *scope) end() {
	for len(s.cleanups) > 0 {
		last := len(s.cleanups) - 1
		f := s.cleanups[last]
		s.cleanups = s.cleanups[:last]
		f()
	}
}

// terse drops rapid's log of each draw, since the sequence is printed as calls.
type terse struct {
	rapid.TB

	first string // the first story that differed, before it was shortened
	told  bool   // a story was printed
}

// close prints the first story if the difference did not occur again, so that no other story was printed.
func (t *terse) close() {
	t.TB.Helper()
	if t.first != "" && !t.told {
		t.TB.Logf("the difference did not occur again; it was:%s", t.first)
	}
}

// Logf implements [rapid.TB].
func (t *terse) Logf(format string, args ...any) {
	if !strings.HasPrefix(format, "[rapid] draw") && !strings.HasPrefix(format, "[rapid] trying") {
		t.told = t.told || !strings.HasPrefix(format, "[rapid]")
		t.TB.Helper()
		t.TB.Logf(format, args...)
	}
}

// Errorf implements [rapid.TB].
func (t *terse) Errorf(format string, args ...any) {
	t.TB.Helper()
	t.TB.Errorf("%s", strings.ReplaceAll(fmt.Sprintf(format, args...), "-rapid.seed", "-model.count=1 -model.seed"))
}
