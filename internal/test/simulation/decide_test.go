package simulation

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// The decisions that are not the default, which is that the call that has waited longest goes on.
const (
	pickCall   = "call"   // call A of those that may go on
	pickLate   = "late"   // that call, and its reply stops once more
	pickFail   = "fail"   // call A fails without effect, and its caller cannot know
	pickLose   = "lose"   // call A has its effect and fails, and its caller cannot know
	pickHold   = "hold"   // call A stays for B seconds
	pickKill   = "kill"   // node A dies; the bits of B say which of its calls in flight are stored
	pickStop   = "stop"   // node A shuts down and is replaced
	pickTick   = "tick"   // time passes although calls wait
	pickClock  = "clock"  // the store's clock goes ahead by B seconds
	pickFreeze = "freeze" // all calls of node A stay for B seconds, as if its machine stood still
	pickIgnore = "ignore" // call A that waits is not woken for B seconds, or a notice is lost
)

// Pick is a decision.
type Pick struct {
	Do   string
	A, B int
}

// Script is all that a run depends on: a workload, and the decisions by step that are not the default.
type Script struct {
	Workload Workload
	Picks    map[int]Pick
}

// String returns the script as testdata has it.
func (s Script) String() string {
	var b strings.Builder
	w, err := json.Marshal(s.Workload)
	if err != nil {
		panic(err) // the types are plain
	}
	fmt.Fprintf(&b, "workload %s\n", w)
	for _, step := range slices.Sorted(maps.Keys(s.Picks)) {
		p := s.Picks[step]
		fmt.Fprintf(&b, "%d %s %d %d\n", step, p.Do, p.A, p.B)
	}
	return b.String()
}

// parse reads a script. Lines that begin with # are comments.
func parse(text string) (s Script, err error) {
	s.Picks = make(map[int]Pick)
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		if w, ok := strings.CutPrefix(line, "workload "); ok {
			if err := json.Unmarshal([]byte(w), &s.Workload); err != nil {
				return s, fmt.Errorf("workload: %w", err)
			}
			continue
		}
		var step int
		var p Pick
		if _, err := fmt.Sscan(line, &step, &p.Do, &p.A, &p.B); err != nil {
			return s, fmt.Errorf("line %q: %w", line, err)
		}
		s.Picks[step] = p
	}
	return s, lines.Err()
}

// decider decides each step.
type decider interface {
	decide(step, calls, all, nodes int) Pick
}

// scripted decides as a script says.
type scripted map[int]Pick

func (s scripted) decide(step, _, _, _ int) Pick { return s[step] }

// drawn decides by a seed, and notes what it has decided.
type drawn struct {
	*rand.Rand

	faults int // still to come
	often  int // one step in so many has a fault
	kinds  []string
	picks  map[int]Pick
}

// drawFaults draws what may go wrong in a run: seldom all kinds, so that each is met alone, too.
func drawFaults(r *rand.Rand) *drawn {
	d := &drawn{Rand: r, faults: r.IntN(20), often: 3 + r.IntN(30), picks: make(map[int]Pick)}
	all := []string{pickLate, pickFail, pickLose, pickHold, pickKill, pickStop, pickTick, pickClock, pickFreeze, pickIgnore}
	for _, kind := range all {
		if r.IntN(2) == 0 {
			d.kinds = append(d.kinds, kind)
		}
	}
	if len(d.kinds) == 0 {
		d.faults = 0
	}
	return d
}

func (d *drawn) decide(step, calls, all, nodes int) (p Pick) {
	switch {
	case d.faults > 0 && d.IntN(d.often) == 0:
		d.faults--
		p = d.fault(calls, all, nodes)
	case d.IntN(2) == 0:
		p = Pick{Do: pickCall, A: d.IntN(calls)}
	}
	if p.Do != "" && p != (Pick{Do: pickCall}) {
		d.picks[step] = p
	}
	return p
}

func (d *drawn) fault(calls, all, nodes int) Pick {
	p := Pick{Do: d.kinds[d.IntN(len(d.kinds))]}
	switch p.Do {
	case pickLate, pickLose:
		p.A = d.IntN(calls)
	case pickFail:
		if p.A = d.IntN(all); d.IntN(2) == 0 {
			p.A = d.IntN(calls)
		}
	case pickHold, pickIgnore:
		p.A, p.B = d.IntN(all), []int{1, 3, 12, 35, 70}[d.IntN(5)]
	case pickFreeze:
		p.A, p.B = d.IntN(nodes), []int{5, 20, 35, 100}[d.IntN(4)]
	case pickKill:
		p.A, p.B = d.IntN(nodes), d.IntN(1<<16)
	case pickStop:
		p.A = d.IntN(nodes)
	case pickClock:
		p.B = []int{1, 20, 40, 600}[d.IntN(4)]
	}
	return p
}
