package programs

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/perdure/perdure/internal/sealing"

	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// showsValue returns what a statement shows when it is run for the given time, and false if it deletes that.
func showsValue(s *Statement, runs int) (value int, set bool) { return s.N + runs, (s.N+runs)%3 > 0 }

// show shows something of the statement's own. Parallel threads show different things, so that the end of all is known.
func (t *thread) show(ctx *octx, s *Statement) {
	runs := t.w.runs[s.ID]
	name := strconv.Itoa(s.ID)
	if value, set := showsValue(s, runs); set {
		orchestration.SetValue(ctx, name, value)
	} else {
		orchestration.SetValue(ctx, name, nil)
	}
	orchestration.SetAttribute(ctx, name, runs)
}

// showings are what a model has shown.
type showings struct {
	runs map[int]int // how often a statement was run
	all  map[int]*Statement
}

func (m *showings) show(s *Statement) {
	if m.runs == nil {
		m.runs, m.all = make(map[int]int), make(map[int]*Statement)
	}
	m.runs[s.ID]++
	m.all[s.ID] = s
}

// list returns all that is shown at the end of a round.
func (m *showings) list(round int) []string {
	shown := []string{fmt.Sprint("status ", round)}
	for id, s := range m.all {
		if value, set := showsValue(s, m.runs[id]); set {
			shown = append(shown, fmt.Sprintf("value %d %d", id, value))
		}
		shown = append(shown, fmt.Sprintf("attribute %d %d", id, m.runs[id]))
	}
	slices.Sort(shown)
	return shown
}

// shown reads what the code of an instance shows.
func (r *run) shown(ctx context.Context, key provider.UUID) ([]string, provider.Instance, error) {
	res, err := r.plain().Get(ctx, provider.GetRequest{Key: key, WithValues: true})
	shown := []string{fmt.Sprint("status ", string(res.Instance.CustomStatus))}
	for _, v := range res.Values {
		if !replay.IsReserved(v.Key) {
			shown = append(shown, fmt.Sprint("value ", v.Key, " ", string(v.Value)))
		}
	}
	for _, a := range res.Instance.Attributes {
		shown = append(shown, fmt.Sprint("attribute ", a.Name, " ", a.Number))
	}
	slices.Sort(shown)
	return shown, res.Instance, err
}

// plain returns the store as one who has the codec sees it.
func (r *run) plain() provider.Provider {
	if r.codec == nil {
		return r.store
	}
	return sealing.New(r.store, r.codec, nil, func(context.Context, bool) error { return nil })
}
