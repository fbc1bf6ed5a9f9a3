package figures

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

// reader gathers what is read.
type reader struct {
	m     *Merged
	level *level
	store provider.Keeper
	slots map[provider.Time]*slot
	cut   provider.Time // nothing was read of the time before it
	whole provider.Time // not all was read of the time before it

	left, leftEnds int // how many records may be read

	fine    provider.Time            // from when on the finest records are kept
	through map[string]provider.Time // to when all that a node has counted is read, by owner

	told     map[string]bool  // by owner: its entry or its last record was read, which says what it had counted
	unfolded []upgrade.Period // in which nodes may have counted what no record of the level has

	unread   []upgrade.Period // of records that this release cannot read
	looks    []upgrade.Period // at what waits
	silences []upgrade.Period // of nodes that keep no figures
}

// chunk reads what nodes have written of the time of a record, which begins at a time.
func (r *reader) chunk(ctx context.Context, at, now provider.Time) error {
	until := at.Add(r.level.chunk())
	ending := until
	if until > now { // a node that was killed just now ends somewhat later
		ending = until.Add(r.level.chunk())
	}
	allEnds, err := r.scan(ctx, ends, at, ending, &r.leftEnds, r.ended)
	if err != nil {
		return err
	}
	read := map[string]bool{}
	all, err := r.scan(ctx, r.level.letter, at, until, &r.left, func(at provider.Time, owner string, value []byte) error {
		read[owner] = true
		return r.record(at, owner, value)
	})
	if err != nil || all && allEnds {
		return err
	}
	r.cut, r.whole = at, until
	return r.running(ctx, at, read)
}

// rest reads from the finest records what nodes have not written into those of the level yet, or never will because they were killed. It reads no
// others, unless it does not know of all nodes that have ended.
func (r *reader) rest(ctx context.Context, now provider.Time) error {
	fine := &levels[0]
	if r.level == fine {
		return nil
	}
	left := maxRead
	for owner, at := range r.through {
		if !r.told[owner] { // the store failed when it ended
			r.unfold(owner, at, 0, 0, at.Add(r.level.slot+lastWords))
		}
	}
	unfolded := joined(r.unfolded)
	for at := floor(now, fine.chunk()); at >= r.fine; at = at.Add(-fine.chunk()) {
		if at >= r.whole && covered(unfolded, at, at.Add(fine.chunk())) == None {
			continue
		}
		all, err := r.scan(ctx, fine.letter, at, at.Add(fine.chunk()), &left, func(at provider.Time, owner string, value []byte) error {
			if at < r.through[owner] {
				return nil
			}
			return r.add(fine, at, owner, value)
		})
		if err != nil {
			return err
		}
		if !all {
			r.whole = max(r.whole, at.Add(fine.chunk()))
			return nil
		}
	}
	return nil
}

// stored returns until when all that a node has counted is read, which counted so. Records by ten minutes or by the hour may lack what came last,
// which the finest ones have as long as they are kept.
func (r *reader) stored(until, tens, hours provider.Time) provider.Time {
	if lacks := r.lacks(tens, hours); lacks != 0 && lacks < r.fine {
		return min(until, lacks)
	}
	return until
}

// lacks returns until when all is in the records of the level, of a node that says this of those by ten minutes and by the hour; 0: all of which
// it tells is.
func (r *reader) lacks(tens, hours provider.Time) provider.Time {
	return [...]provider.Time{0, tens, hours}[slices.IndexFunc(levels[:], func(l level) bool { return l.letter == r.level.letter })]
}

// unfold notes that a node, which has counted so, may have counted more until an end that no record of the level has.
func (r *reader) unfold(owner string, until, tens, hours, end provider.Time) {
	r.told[owner] = true
	if lacks := r.lacks(tens, hours); lacks != 0 {
		until = min(until, lacks)
	}
	// What is counted late belongs to an earlier minute.
	r.unfolded = append(r.unfolded, upgrade.Period{Since: until.Add(-late - time.Minute), Until: end.Add(time.Minute)})
}

// running reads the records of a time of the nodes that run, besides those that are read already.
func (r *reader) running(ctx context.Context, at provider.Time, read map[string]bool) error {
	left := maxOwn
	for i := range r.m.Spans {
		s := &r.m.Spans[i]
		if !s.Live || read[s.Owner] || left == 0 {
			continue
		}
		left--
		req := provider.RecordRequest{Action: provider.RecordGet, Namespace: space, Key: key(r.level.letter, at, s.Owner)}
		res, err := r.store.Record(ctx, req)
		if errors.Is(err, provider.ErrNotFound) {
			continue
		}
		if err == nil {
			err = r.record(at, s.Owner, res.Records[0].Value)
		}
		if err != nil {
			return fmt.Errorf("reading figures: record %q: %w", req.Key, err)
		}
	}
	return nil
}

// scan reads the records of a letter of a time, which is that of one record of a level, as long as some are left to read. It reports whether it has
// read them all.
func (r *reader) scan(
	ctx context.Context, letter string, from, until provider.Time, left *int, each func(at provider.Time, owner string, value []byte) error,
) (all bool, err error) {
	req := provider.RecordRequest{Action: provider.RecordScan, Namespace: space, Prefix: letter + "/", Key: before(letter, from), Max: 100}
	if letter != ends { // the records of a time have one beginning: no value of a later one is fetched
		req.Prefix = req.Key
	}
	for end := before(letter, until); ; {
		res, err := r.store.Record(ctx, req)
		if err != nil {
			return false, fmt.Errorf("reading figures: %w", err)
		}
		for i := range res.Records {
			req.Key = res.Records[i].Key
			_, at, owner, ok := parse(req.Key)
			switch {
			case req.Key >= end:
				return true, nil
			case *left == 0:
				return false, nil
			case !ok:
				continue
			}
			*left--
			if err := each(at, owner, res.Records[i].Value); err != nil {
				return false, fmt.Errorf("reading figures: record %q: %w", req.Key, err)
			}
		}
		if len(res.Records) < req.Max {
			return true, nil
		}
	}
}

// node takes in an entry of the list of nodes.
func (r *reader) node(n *upgrade.Node, now provider.Time) {
	if n.Counts == nil {
		if !n.Lost(now) {
			r.m.Silent = append(r.m.Silent, n.Owner)
		}
		return
	}
	s := spanOf(n)
	s.Live = !n.Lost(now)
	if !s.Live {
		s.Lost = LostAt(n)
	}
	r.unfold(n.Owner, s.Until, n.Counts.Tens, n.Counts.Hours, cmp.Or(s.Lost, now))
	s.Seen, s.Until = s.Until, r.stored(s.Until, n.Counts.Tens, n.Counts.Hours)
	r.m.Spans = append(r.m.Spans, s)
	r.looks, r.silences = append(r.looks, n.Counts.Looks), append(r.silences, n.Counts.Silence)
}

// spanOf returns from when to when a node says that it has counted. One that has just begun counts from before its first work on, and has not
// said since when.
func spanOf(n *upgrade.Node) Span {
	if n.Counts.Since == 0 {
		return Span{Owner: n.Owner, Since: n.Renewed, Until: n.Renewed}
	}
	return Span{Owner: n.Owner, Since: n.Counts.Since, Until: n.Counts.Until}
}

// LostAt returns when a node that is lost was gone at the latest: it would have written its entry again by then.
func LostAt(n *upgrade.Node) provider.Time {
	return n.Renewed.Add(time.Duration(n.Every)*time.Second + patience)
}

func (r *reader) ended(_ provider.Time, owner string, value []byte) error {
	var e ended
	if newer, err := decode(value, &e); newer || err != nil {
		return err
	}
	until := r.stored(e.Until, e.Tens, e.Hours)
	if r.told[owner] = true; e.Lost != 0 {
		r.unfold(owner, e.Until, e.Tens, e.Hours, e.Lost)
	}
	r.m.Spans = append(r.m.Spans, Span{Owner: owner, Since: e.Since, Until: until, Seen: e.Until, Lost: e.Lost, Clean: e.Lost == 0})
	r.looks, r.silences = append(r.looks, e.Looks), append(r.silences, e.Silence)
	return nil
}

// record takes in a record of the level.
func (r *reader) record(at provider.Time, owner string, value []byte) error {
	return r.add(r.level, at, owner, value)
}

// add takes in a record of a level.
func (r *reader) add(l *level, at provider.Time, owner string, value []byte) error {
	var rec record
	newer, err := decode(value, &rec)
	if err != nil {
		return err
	}
	if newer {
		r.unread = append(r.unread, upgrade.Period{Since: at, Until: at.Add(l.chunk())})
		return nil
	}
	r.m.Spans = append(r.m.Spans, Span{Owner: owner, Since: rec.Since, Until: rec.Until})
	r.looks, r.silences = append(r.looks, rec.Looks...), append(r.silences, rec.Silences...)
	if l == r.level { // it was written when a slot was over, or the node ended
		r.through[owner] = max(r.through[owner], floor(rec.Until-1, l.slot).Add(l.slot))
	}
	for i := range rec.Slots {
		s := &rec.Slots[i]
		if s.Index < 0 || s.Index >= l.slots {
			continue
		}
		begin := floor(at.Add(time.Duration(s.Index)*l.slot), r.level.slot)
		into := r.slots[begin]
		if into == nil {
			into = new(slot)
			r.slots[begin] = into
		}
		into.Counts.add(&s.Counts)
		into.Backlog = max(into.Backlog, s.Backlog)
	}
	for name, n := range rec.Failed {
		r.m.Failed[name] += n
	}
	merge(r.m.Activities, rec.Activities)
	merge(r.m.Queues, rec.Queues)
	return nil
}
