package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// An instance keeps the outcomes of its last maxOutcomes updates, as long as they have maxOutcomeBytes together, but at
// least those of minOutcomes.
const (
	maxOutcomes     = 1_000
	minOutcomes     = 10
	maxOutcomeBytes = 16 << 20
)

// Outcomes are the stored outcomes of an instance's updates. Outcomes of updates that left no event are in no history.
type Outcomes struct {
	sizes map[string]int // in bytes, by key
	order []string       // keys, oldest first
	bytes int
}

// Outcome is the outcome of an update that a turn keeps, or removes if Size is 0.
type Outcome struct {
	Key  string
	Size int // in bytes
}

// ReadOutcomes finds the outcomes among the values of an instance.
func ReadOutcomes(values []provider.KeyValue) (*Outcomes, error) {
	all := &Outcomes{sizes: make(map[string]int)}
	ended := make(map[string]int64)
	for _, v := range values {
		if !strings.HasPrefix(v.Key, history.UpdateKeys) {
			continue
		}
		s, err := history.DecodeUpdateState(v.Value)
		if err != nil {
			return nil, fmt.Errorf("reading the outcome of an update: %w", err)
		}
		if s.Over() {
			all.keep(Outcome{Key: v.Key, Size: len(v.Value)})
			ended[v.Key] = s.Ended
		}
	}
	slices.SortStableFunc(all.order, func(a, b string) int { return cmp.Compare(ended[a], ended[b]) })
	return all, nil
}

// Has reports whether an update has an outcome.
func (o *Outcomes) Has(updateID string) bool {
	_, ok := o.sizes[history.UpdateKey(updateID)]
	return ok
}

// Keep takes over what a turn has stored.
func (o *Outcomes) Keep(stored []Outcome) {
	for _, s := range stored {
		o.keep(s)
	}
}

func (o *Outcomes) keep(s Outcome) {
	size, known := o.sizes[s.Key]
	o.bytes += s.Size - size
	switch {
	case s.Size == 0:
		delete(o.sizes, s.Key)
		o.order = slices.DeleteFunc(o.order, func(key string) bool { return key == s.Key })
	case known:
		o.sizes[s.Key] = s.Size
	default:
		o.sizes[s.Key] = s.Size
		o.order = append(o.order, s.Key)
	}
}

// tooMany returns the keys of the oldest outcomes that are too many beside those that a turn adds. Those added last stay.
func (o *Outcomes) tooMany(added []Outcome) (gone []string) {
	bytes, count := o.bytes, len(o.order)
	for _, a := range added {
		size, known := o.sizes[a.Key]
		if bytes += a.Size - size; !known {
			count++
		}
	}
	least := max(minOutcomes, len(added))
	for _, key := range o.order {
		if count <= least || count <= max(maxOutcomes, len(added)) && bytes <= maxOutcomeBytes {
			break
		}
		if slices.ContainsFunc(added, func(a Outcome) bool { return a.Key == key }) {
			continue
		}
		gone = append(gone, key)
		count, bytes = count-1, bytes-o.sizes[key]
	}
	return gone
}

// updates adds the stages and outcomes of updates to the request, and removes outcomes that are too many.
func (d *decider) updates() {
	known := d.policy.Outcomes
	put := func(s *history.UpdateState) {
		key, data := history.UpdateKey(s.ID), history.EncodeUpdateState(*s)
		d.Request.Values = append(d.Request.Values, provider.KeyValue{Key: key, Value: data})
		if known != nil && s.Over() {
			d.Kept = append(d.Kept, Outcome{Key: key, Size: len(data)})
		}
	}
	for i := range d.Turn.Updates {
		put(&d.Turn.Updates[i])
	}
	if known == nil {
		return
	}
	for i := range d.Turn.Repeats {
		s := &d.Turn.Repeats[i]
		key := history.UpdateKey(s.ID)
		if !known.Has(s.ID) && !slices.ContainsFunc(d.Kept, func(o Outcome) bool { return o.Key == key }) {
			put(s)
		}
	}
	for _, key := range known.tooMany(d.Kept) {
		d.Request.Values = append(d.Request.Values, provider.KeyValue{Key: key})
		d.Kept = append(d.Kept, Outcome{Key: key})
	}
}
