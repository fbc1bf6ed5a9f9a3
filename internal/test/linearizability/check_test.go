package linearizability

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/perdure/perdure/client"
)

// deadline bounds the check of a history.
const deadline = 30 * time.Second

// check fails the test if the history of a subject is not linearizable.
func check(t *testing.T, s *subject, n *counts) {
	t.Helper()
	m := model()
	n.histories.Add(1)
	if porcupine.CheckOperationsTimeout(m, reduced(s.history), deadline) == porcupine.Ok {
		return
	}
	verdict, info := porcupine.CheckOperationsVerbose(m, s.history, deadline)
	switch verdict {
	case porcupine.Ok:
		return
	case porcupine.Unknown:
		n.undecided.Add(1)
		t.Logf("%s: the search for an order of its %d calls took longer than %v", s.id, len(s.history), deadline)
		return
	}
	picture := filepath.Join(*outFlag, s.id+".html")
	if err := porcupine.VisualizePath(m, info, picture); err != nil {
		t.Error(err)
	}
	t.Errorf("%s: the history is not linearizable: the checker says %v; see %s\n%s", s.id, verdict, picture, explain(&info, s.history))
}

// reduced returns a history that is linearizable only if the given one is, and is checked sooner. A call of unknown outcome that nobody has seen an effect
// of did not happen. One whose effect was seen happened before that.
func reduced(history []porcupine.Operation) (less []porcupine.Operation) {
	seen := firstSeen(history)
	times := map[string]int{} // that an entry or request was sent
	for _, op := range history {
		times[op.Input.(call).entry]++
	}
	for _, op := range history {
		made := op.Input.(call)
		if op.Return != math.MaxInt64 || made.entry == "" {
			less = append(less, op)
			continue
		}
		at, was := seen[made.entry]
		if !was && made.entry[0] != 's' && made.entry[0] != 'r' {
			continue
		}
		if was && times[made.entry] == 1 {
			op.Return = at
		}
		less = append(less, op)
	}
	return less
}

// firstSeen returns when entries, and the request IDs of starts, were first seen by somebody.
func firstSeen(history []porcupine.Operation) map[string]int64 {
	seen := map[string]int64{}
	for _, op := range history {
		made, got := op.Input.(call), op.Output.(result)
		all := slices.Clone(got.entries)
		if got.request != "" {
			all = append(all, got.request)
		}
		if got.outcome == succeeded && (made.kind == restarting || made.kind == starting && made.policy != client.UseExisting) {
			all = append(all, made.entry)
		}
		for _, name := range all {
			if name[0] == 'e' && name[1] == 'w' {
				name = name[1:] // it came with a start
			}
			if at, was := seen[name]; !was || op.Return < at {
				seen[name] = op.Return
			}
		}
	}
	return seen
}

// explain returns the longest order that agrees with the model, and the calls that are missing from it.
func explain(info *porcupine.LinearizationInfo, history []porcupine.Operation) string {
	var longest []porcupine.Operation
	for _, order := range info.PartialLinearizationsOperations()[0] {
		if len(order) > len(longest) {
			longest = order
		}
	}
	var b strings.Builder
	show := func(op porcupine.Operation) {
		until := "ever"
		if op.Return != math.MaxInt64 {
			until = time.Duration(op.Return).String()
		}
		fmt.Fprintf(&b, "%13v to %13s, client %d: %v: %v\n", time.Duration(op.Call), until, op.ClientId, op.Input, op.Output)
	}
	fmt.Fprintf(&b, "the longest order has %d of %d calls; its last are\n", len(longest), len(history))
	for _, op := range longest[max(0, len(longest)-25):] {
		show(op)
	}
	b.WriteString("after it comes none of\n")
	rest := slices.DeleteFunc(slices.Clone(history), func(op porcupine.Operation) bool {
		return slices.ContainsFunc(longest, func(o porcupine.Operation) bool { return o.ClientId == op.ClientId && o.Call == op.Call })
	})
	slices.SortFunc(rest, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	for _, op := range rest[:min(len(rest), 15)] {
		show(op)
	}
	return b.String()
}
