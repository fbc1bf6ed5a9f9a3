package figures

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

// Window is how far back figures go.
type Window int

// The windows.
const (
	Hour Window = iota // by the minute, 60 to 70 minutes
	Day                // by ten minutes, 24 to 26 hours
	Week               // by the hour, 7 to 8 days
)

// length returns how far a window goes back at least.
func (w Window) length() time.Duration {
	return [...]time.Duration{time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}[w]
}

// Known says how much of a time the figures cover.
type Known int

// What can be known of a time.
const (
	None Known = iota // no node has counted, as far as is known
	Part              // not all of the time, or one was lost and its last figures with it, or one ran that keeps none or is of a newer format
	All
)

// Point is what happened in a slot of time.
type Point struct {
	At, Until provider.Time // Until is earlier than the end of the slot in the last point only
	Known     Known
	Counts    Counts
	Looked    Known // how much of the time a node has looked at what waits
	Backlog   int64 // the most that it saw
}

// Span is a time in which a node has counted.
type Span struct {
	Owner        string
	Since, Until provider.Time
	Seen         provider.Time // until when it said that it counts; later than Until if records of the time between are gone
	Lost         provider.Time // it was killed, at this time at the latest; 0: it was not
	Clean        bool          // it was shut down
	Live         bool          // it is in the list of nodes, and not lost
}

// Merged are the figures of all nodes.
type Merged struct {
	From, Until provider.Time
	Slot        time.Duration
	Points      []Point // from the earliest, without a hole
	Failed      map[string]int64
	Activities  map[string]*Activity
	Queues      map[string]*Queue
	Versions    []Version     // that came in the window
	Spans       []Span        // by owner and time
	Silent      []string      // owners of nodes that run and keep no figures
	LeftOut     provider.Time // there are too many records to read all: before it nothing is known, or only a part; 0: all was read
	Looked      bool          // at the end a node looked at what waits: queues that lack a look of that time are empty
}

const (
	// longestLag is how long a node that says nothing holds back the end of the figures. It counts as lost after that.
	longestLag = 4 * time.Minute
	// lastWords is how long after its last record a node that nobody saw end may have worked.
	lastWords = 2 * time.Minute
	// maxRead bounds the records of one call, and as many of nodes that have ended.
	maxRead = 20_000
	// maxOwn bounds the running nodes whose records are read one by one where there are too many to read all.
	maxOwn = 200
)

// Read merges the figures of a window, the newest first, as far as they are not too many. nodes are all nodes of the list at the time now of the storage, also
// those that were killed long ago.
func Read(ctx context.Context, store provider.Keeper, w Window, nodes []upgrade.Node, now provider.Time) (*Merged, error) {
	l := &levels[w]
	m := &Merged{
		From: floor(now.Add(-w.length()), l.chunk()), Slot: l.slot,
		Failed: map[string]int64{}, Activities: map[string]*Activity{}, Queues: map[string]*Queue{},
	}
	r := reader{
		m: m, level: l, store: store, slots: map[provider.Time]*slot{}, through: map[string]provider.Time{}, told: map[string]bool{},
		left: maxRead, leftEnds: maxRead,
		fine: floor(now.Add(-levels[0].keep), levels[0].chunk()),
	}
	for i := range nodes {
		r.node(&nodes[i], now)
	}
	var err error
	for at := floor(now, l.chunk()); at >= m.From && r.cut == 0; at = at.Add(-l.chunk()) {
		if err = r.chunk(ctx, at, now); err != nil {
			return nil, err
		}
	}
	if err = r.rest(ctx, now); err != nil {
		return nil, err
	}
	m.LeftOut = r.whole
	if m.Versions, err = readVersions(ctx, store, m.From); err != nil {
		return nil, err
	}
	r.join()
	r.looks, r.silences, r.unread = joined(r.looks), joined(r.silences), joined(r.unread)
	r.draw(now)
	m.Looked = covered(r.looks, m.Until.Add(-standsFor), m.Until) == All
	bound(m.Failed, MaxNames)
	boundBy(m.Activities, (*Activity).size, MaxNames)
	boundBy(m.Queues, (*Queue).size, MaxNames)
	return m, nil
}

// join makes one span of all that say the same of a node.
func (r *reader) join() {
	all := r.m.Spans
	slices.SortFunc(all, func(a, b Span) int { return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Since, b.Since)) })
	joined := all[:0]
	for _, s := range all {
		last := len(joined) - 1
		if last >= 0 && joined[last].Owner == s.Owner && s.Since <= joined[last].Until {
			j := &joined[last]
			j.Until, j.Seen, j.Lost = max(j.Until, s.Until), max(j.Seen, s.Seen), max(j.Lost, s.Lost)
			j.Clean, j.Live = j.Clean || s.Clean, j.Live || s.Live
			continue
		}
		joined = append(joined, s)
	}
	for i := range joined {
		s := &joined[i]
		s.Seen = max(s.Seen, s.Until)
		if i+1 < len(joined) && joined[i+1].Owner == s.Owner { // it has given up figures in between
			s.Lost, s.Clean, s.Live = joined[i+1].Since, false, false
		}
		if !s.Live && !s.Clean && s.Lost == 0 {
			s.Lost = s.Until.Add(lastWords)
		}
	}
	r.m.Spans = joined
}

// draw makes the points.
func (r *reader) draw(now provider.Time) {
	m := r.m
	end := now
	for i := range m.Spans {
		if s := &m.Spans[i]; s.Live {
			end = min(end, floor(s.Until, time.Minute))
		}
	}
	end = max(end, floor(now.Add(-longestLag), time.Minute))
	m.Until = end
	for at := m.From; at < end; at = at.Add(m.Slot) {
		p := Point{At: at, Until: min(at.Add(m.Slot), end)}
		if p.Known = r.known(p.At, p.Until); p.Known != None {
			p.Looked = covered(r.looks, p.At, p.Until)
		}
		if s := r.slots[at]; s != nil && p.Known != None {
			p.Counts, p.Backlog = s.Counts, s.Backlog
			if p.Looked == None && p.Backlog > 0 { // of a look whose time was forgotten
				p.Looked = Part
			}
		}
		m.Points = append(m.Points, p)
	}
}

// known says how much of a time is covered.
func (r *reader) known(from, until provider.Time) Known {
	if until <= r.cut {
		return None
	}
	var counted []upgrade.Period
	broken := from < r.whole || len(r.m.Silent) > 0 || covered(r.silences, from, until) != None || covered(r.unread, from, until) != None
	for i := range r.m.Spans {
		s := &r.m.Spans[i]
		if s.Since < until && s.Until > from {
			counted = append(counted, upgrade.Period{Since: s.Since, Until: s.Until})
		}
		end := s.Lost
		if s.Live { // it says nothing, for now
			end = until
		}
		broken = broken || !s.Clean && s.Until < until && end > from
	}
	known := covered(joined(counted), from, until)
	if broken {
		known = min(known, Part)
	}
	return known
}
