package query

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/platform/goroutine"
	"github.com/perdure/perdure/provider"
)

// A kind of query with maxLeaks calls that were given up within leakTime is refused for refuseTime, and as long as maxLeaks of them run.
const (
	maxLeaks   = 3
	leakTime   = time.Minute
	refuseTime = time.Minute
)

// kind is what a leak blames: the handler of a name in the code of an orchestration.
type kind struct {
	code  provider.Capability
	query string
}

func kindOf(inst *provider.Instance, query string) kind {
	return kind{provider.Capability{Name: inst.Name, CodeVersion: inst.CodeVersion}, query}
}

// Leaked is a query whose handler should have returned and has not.
type Leaked struct {
	Orchestration string
	CodeVersion   string
	Query         string
	InstanceID    string
	Execution     int64
	Since         time.Time // when it was given up
	Stack         string    // of its goroutine
}

// leaks lists the queries that were given up and still run. They are apart from the list of the watchdog, and never end the node.
type leaks struct {
	logger *slog.Logger

	mu      sync.Mutex
	running map[*code]time.Time
	still   map[kind]int         // how many of each run
	recent  map[kind][]time.Time // of the last leaks, at most maxLeaks
	total   int64
}

func newLeaks(logger *slog.Logger) leaks {
	return leaks{logger: logger, running: make(map[*code]time.Time), still: make(map[kind]int), recent: make(map[kind][]time.Time)}
}

// add lists code that was given up, until it returns.
func (ls *leaks) add(c *code) {
	of := kindOf(c.inst, c.query)
	now := time.Now()
	ls.mu.Lock()
	ls.total++
	ls.running[c] = now
	ls.still[of]++
	ls.prune(now)
	ls.recent[of] = append(ls.recent[of], now)
	if last := ls.recent[of]; len(last) > maxLeaks {
		ls.recent[of] = last[1:]
	}
	ls.mu.Unlock()
	ls.logger.Error("query was given up: its handler does not return", "instance", c.inst.ID, "orchestration", c.inst.Name, "query", of.query)
	go func() {
		<-c.done
		ls.mu.Lock()
		delete(ls.running, c)
		if ls.still[of]--; ls.still[of] == 0 {
			delete(ls.still, of)
		}
		ls.mu.Unlock()
	}()
}

// prune forgets kinds whose last leak was long ago. It needs ls.mu.
func (ls *leaks) prune(now time.Time) {
	for of, last := range ls.recent {
		if now.Sub(last[len(last)-1]) > leakTime+refuseTime {
			delete(ls.recent, of)
		}
	}
}

// refuses returns why queries of the kind are refused now; "": they are not.
func (ls *leaks) refuses(of kind) string {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if n := ls.still[of]; n >= maxLeaks {
		return fmt.Sprintf("%d calls of it that began more than %v ago still run on this node, which refuses others until they return", n, maxTime)
	}
	last := ls.recent[of]
	if len(last) < maxLeaks {
		return ""
	}
	newest := last[maxLeaks-1]
	if newest.Sub(last[0]) > leakTime || time.Since(newest) >= refuseTime {
		return ""
	}
	return fmt.Sprintf("%d calls of it took longer than %v within a minute on this node, which asks it no more for a minute", maxLeaks, maxTime)
}

// figures returns how many calls have leaked, and how many of them still run.
func (ls *leaks) figures() (total, running int64) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.total, int64(len(ls.running))
}

// Leaks returns how many queries were given up since the node started, and how many of them still run.
func (qs *Queries) Leaks() (total, running int64) { return qs.leaks.figures() }

// Leaked returns the queries that were given up and still run, the oldest first. It stops the world for a moment if there are any.
func (qs *Queries) Leaked() []Leaked {
	ls := &qs.leaks
	ls.mu.Lock()
	all, ids := make([]Leaked, 0, len(ls.running)), make([]uint64, 0, len(ls.running))
	numbers := make(map[int]uint64)
	for c, since := range ls.running {
		numbers[len(all)] = c.id.Load()
		ids = append(ids, c.id.Load())
		all = append(all, Leaked{
			Orchestration: c.inst.Name, CodeVersion: c.inst.CodeVersion, Query: c.query,
			InstanceID: c.inst.ID, Execution: c.inst.Execution, Since: since,
		})
	}
	ls.mu.Unlock()
	if len(all) == 0 {
		return nil
	}
	stacks := goroutine.Stacks(ids...)
	for i := range all {
		all[i].Stack = stacks[numbers[i]]
	}
	slices.SortFunc(all, func(a, b Leaked) int {
		if order := a.Since.Compare(b.Since); order != 0 {
			return order
		}
		return strings.Compare(a.InstanceID, b.InstanceID)
	})
	return all
}
