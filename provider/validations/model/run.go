package model

import (
	"flag"
	"fmt"
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
	firstSeed = flag.Uint64("model.seed", 1, "seed of the first random sequence; the others follow from it")
	howMany   = flag.Int("model.count", 0, "how many random sequences are played; 0: as many as the test asks for")
)

type options struct {
	count   int
	shrink  time.Duration // how long a sequence is made shorter
	advance func(provider.Provider, time.Duration)
}

// Option changes how the model is compared.
type Option func(*options)

// Count is how many sequences are played unless -model.count says otherwise; 50 if not given.
func Count(n int) Option { return func(o *options) { o.count = n } }

// Advance says how to move the clock of a provider that goes only when it is told to. Without
// it the provider's time passes by itself.
func Advance(by func(p provider.Provider, d time.Duration)) Option {
	return func(o *options) { o.advance = by }
}

// Run compares a provider with the model. open makes a fresh, empty one for each sequence and
// cleans up after it through t, whose Cleanup and TempDir last as long as the sequence.
//
// A failure says which seed to give to repeat it: -model.seed=N -model.count=1.
func Run(t *testing.T, open func(t testing.TB) provider.Provider, opts ...Option) {
	t.Helper()
	o := options{count: 50, shrink: 30 * time.Second}
	for _, opt := range opts {
		opt(&o)
	}
	if *howMany > 0 {
		o.count = *howMany
	}
	t.Logf("%d sequences from seed %d on", o.count, *firstSeed)
	check(t, &o, t, open)
}

// check plays sequences until one shows a difference, and reports that to tb; the providers are those of t.
func check(t *testing.T, o *options, tb rapid.TB, open func(t testing.TB) provider.Provider) {
	tb.Helper()
	defer configure(o.count, o.shrink)()
	quiet := &terse{TB: tb}
	rapid.Check(quiet, func(rt *rapid.T) {
		s := &scope{T: t}
		defer s.end()
		play(rt, open(s), o, func(story string) {
			if quiet.first == "" {
				quiet.first = story
			}
		})
	})
}

// rapidFlags guards the settings of rapid, which are flags of the process.
//
//nolint:gochecknoglobals // see above
var rapidFlags sync.Mutex

// configure sets how many sequences rapid plays, from which seed on, and how long it makes one shorter,
// until restore is called.
func configure(count int, shrink time.Duration) (restore func()) {
	rapidFlags.Lock()
	if testing.Short() {
		count = max(count, 5) // of which rapid plays one in five
	}
	old := map[string]string{}
	for name, value := range map[string]string{
		"rapid.checks": fmt.Sprint(count), "rapid.seed": fmt.Sprint(*firstSeed), "rapid.nofailfile": "true",
		"rapid.shrinktime": shrink.String(),
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

// scope is a test of which cleanups and folders last for one sequence only.
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

// terse leaves out what rapid says about each draw: the sequence is printed as calls.
type terse struct {
	rapid.TB

	first string // what differed first, before it was made shorter
}

// Logf implements [rapid.TB].
func (t *terse) Logf(format string, args ...any) {
	if !strings.HasPrefix(format, "[rapid] draw") && !strings.HasPrefix(format, "[rapid] trying") {
		t.TB.Helper()
		t.TB.Logf(format, args...)
	}
}

// Errorf implements [rapid.TB].
func (t *terse) Errorf(format string, args ...any) {
	t.TB.Helper()
	text := fmt.Sprintf(format, args...)
	if strings.Contains(text, "flaky") { // by chance it was not seen again
		text += t.first
	}
	t.TB.Errorf("%s", strings.ReplaceAll(text, "-rapid.seed", "-model.count=1 -model.seed"))
}
