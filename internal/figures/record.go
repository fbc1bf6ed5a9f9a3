package figures

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

// space has the records of figures.
const space = "perdure/figures"

// level is a fineness in which figures are kept.
type level struct {
	letter string
	slot   time.Duration // that its counts are for
	slots  int           // of a record
	keep   time.Duration // how long a record is kept after its end
}

// chunk is the time of a record.
func (l *level) chunk() time.Duration { return l.slot * time.Duration(l.slots) }

// levels are all levels, the finest first. Stored records depend on them.
//
//nolint:gochecknoglobals // constant table
var levels = [...]level{
	{"m", time.Minute, 10, 2 * time.Hour},
	{"t", 10 * time.Minute, 12, 2 * 24 * time.Hour},
	{"h", time.Hour, 24, 14 * 24 * time.Hour},
}

// ends is the letter of the records that say from when to when a node counted that has ended; endsKept is how long they stay.
const (
	ends     = "n"
	endsKept = 14 * 24 * time.Hour
)

// slot is what happened in a slot of a record.
type slot struct {
	Counts

	Index   int   `json:"i"`
	Backlog int64 `json:"backlog,omitempty"` // the most activities that waited at once
}

// format is the highest format that this release reads. Releases that run side by side read each other's records, so fields are only ever added,
// and whoever does not know one skips it. A record that an older release would take for something else says in Needs which format it has. Who does
// not know that leaves it out: the time of the record is known in part then, and no more.
const format = 1

// stamp is a part of all records.
type stamp struct {
	Needs int `json:"needs,omitempty"` // the lowest format that reads the record; 0: 1
}

func (s *stamp) newer() bool { return s.Needs > format }

// record is what a node counted in a chunk.
type record struct {
	stamp

	Since      provider.Time        `json:"since"` // from when the node has counted without a break
	Until      provider.Time        `json:"until"` // to when, as far as the record knows
	Slots      []slot               `json:"slots,omitempty"`
	Failed     map[string]int64     `json:"failed,omitempty"` // ends, by orchestration
	Activities map[string]*Activity `json:"activities,omitempty"`
	Queues     map[string]*Queue    `json:"queues,omitempty"`
	Looks      []upgrade.Period     `json:"looks,omitempty"`    // at what waits
	Silences   []upgrade.Period     `json:"silences,omitempty"` // in which nodes were seen that keep no figures
}

// add adds what was counted in a slot.
func (r *record) add(index int, d *delta) {
	at := slices.IndexFunc(r.Slots, func(s slot) bool { return s.Index == index })
	if at < 0 {
		at = len(r.Slots)
		r.Slots = append(r.Slots, slot{Index: index})
	}
	s := &r.Slots[at]
	s.Counts.add(&d.counts)
	s.Backlog = max(s.Backlog, d.backlog)
	r.Looks, r.Silences = forget(append(r.Looks, d.looks.ended...)), widen(append(r.Silences, d.silences.ended...))
	if r.Failed == nil {
		r.Failed, r.Activities, r.Queues = map[string]int64{}, map[string]*Activity{}, map[string]*Queue{}
	}
	for name, n := range d.failed {
		r.Failed[room(r.Failed, name)] += n
	}
	for name, a := range d.activities {
		addTo(r.Activities, name, a)
	}
	for name, q := range d.queues {
		addTo(r.Queues, name, q)
	}
}

// clone returns a copy that shares nothing with the record.
func (r *record) clone() *record {
	c := *r
	c.Slots, c.Looks, c.Silences, c.Failed = slices.Clone(r.Slots), slices.Clone(r.Looks), slices.Clone(r.Silences), maps.Clone(r.Failed)
	c.Activities, c.Queues = map[string]*Activity{}, map[string]*Queue{}
	merge(c.Activities, r.Activities)
	merge(c.Queues, r.Queues)
	return &c
}

// recordMost bounds the bytes of a record. MaxNames names of usual length stay far below it. The longest names that a store takes, which JSON
// makes up to six times longer, would not fit into any value without it.
const recordMost = provider.MaxPayload / 4

// encode returns the value of the record. If that is longer than recordMost, only the largest figures keep their name, as many as fit.
func (r *record) encode() ([]byte, error) {
	value, err := encode(r)
	for most := MaxNames / 2; err == nil && len(value) > recordMost && most > 0; most /= 2 {
		r.bound(most)
		value, err = encode(r)
	}
	return value, err
}

// bound leaves the names of the largest figures of each kind, and adds up the others.
func (r *record) bound(most int) {
	bound(r.Failed, most)
	boundBy(r.Activities, (*Activity).size, most)
	boundBy(r.Queues, (*Queue).size, most)
}

// ended is the record of a node that has ended.
type ended struct {
	stamp

	Since provider.Time `json:"since"`
	Until provider.Time `json:"until"`          // it has counted all until then
	Lost  provider.Time `json:"lost,omitempty"` // it was killed, at this time at the latest; 0: it was shut down

	Tens  provider.Time `json:"tens,omitzero"` // as in upgrade.Counts
	Hours provider.Time `json:"hours,omitzero"`

	Looks   upgrade.Period `json:"looks,omitzero"`
	Silence upgrade.Period `json:"silence,omitzero"`
}

// endedAs returns the record of a node that has counted so; lost is 0 if it was shut down.
func endedAs(c *upgrade.Counts, lost provider.Time) ended {
	return ended{Since: c.Since, Until: c.Until, Lost: lost, Tens: c.Tens, Hours: c.Hours, Looks: c.Looks, Silence: c.Silence}
}

// key returns the key of a record. Keys of a letter sort by time.
func key(letter string, at provider.Time, owner string) string {
	return before(letter, at) + owner
}

// before returns what is less than all keys of a letter from a time on, and more than those before.
func before(letter string, at provider.Time) string {
	return fmt.Sprintf("%s/%010d/", letter, int64(at)/int64(time.Second/time.Microsecond))
}

// parse splits a key.
func parse(key string) (letter string, at provider.Time, owner string, ok bool) {
	parts := strings.SplitN(key, "/", 3)
	if len(parts) != 3 {
		return "", 0, "", false
	}
	seconds, err := strconv.ParseInt(parts[1], 10, 64)
	return parts[0], provider.Time(seconds * int64(time.Second/time.Microsecond)), parts[2], err == nil && seconds >= 0
}

// floor returns the beginning of the span, of those that follow each other from 1970 on, that has a time.
func floor(t provider.Time, span time.Duration) provider.Time {
	return t - t%provider.Time(span.Microseconds())
}

// decode reads a record of any kind. It reports whether it is of a release whose records this one cannot read.
func decode(value []byte, into interface{ newer() bool }) (newer bool, err error) {
	if err := json.Unmarshal(value, into); err != nil {
		var s stamp
		if json.Unmarshal(value, &s) == nil && s.newer() { // another release may have changed the types
			return true, nil
		}
		return false, fmt.Errorf("decoding it: %w", err)
	}
	return into.newer(), nil
}

func encode(v any) ([]byte, error) {
	value, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("writing figures: %w", err)
	}
	return value, nil
}
