package replay

import (
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/perdure/perdure/provider"
)

const (
	// ValueWaiting is the engine's key-value with a Waiting, as long as code waits with a text.
	ValueWaiting = reserved + "waiting"
	// AttributeWaiting is since when, in microseconds UTC, so that lists can be filtered by it; 0: no longer.
	AttributeWaiting = reserved + "waiting"
	// MaxWaiting bounds a text, in bytes.
	MaxWaiting = 200
)

// Waiting is what code waits for, in words for people.
type Waiting struct {
	Text  string `json:"text"`
	Since int64  `json:"since"` // microseconds UTC
}

// waitText is a wait with a text.
type waitText struct {
	Waiting

	co *coroutine
}

// waitTexts are the waits of an execution that have a text, the longest first. The first one is shown.
type waitTexts struct {
	list   []*waitText
	stored Waiting
	unsure bool // a replay has set texts: what is stored is not known
}

// Waiting shows a text for the wait of the running coroutine, until done is called. A text beyond MaxWaiting is cut.
func (s *Scope) Waiting(text string) (done func()) {
	x := s.x
	w := &waitText{co: x.sched.enter(), Waiting: Waiting{Text: cutText(text, MaxWaiting), Since: x.now}}
	if w.Text == "" {
		return func() {}
	}
	if x.waits == nil {
		x.waits = &waitTexts{}
	}
	x.waits.unsure = x.waits.unsure || x.events.replaying.Load()
	x.waits.list = append(x.waits.list, w)
	return func() {
		x.waits.unsure = x.waits.unsure || x.events.replaying.Load()
		if i := slices.Index(x.waits.list, w); i >= 0 {
			x.waits.list = slices.Delete(x.waits.list, i, i+1)
		}
	}
}

// MayShowWaiting says that the instance shows a text, which this code may not have set: the next turn stores what holds then.
func (x *Execution) MayShowWaiting() {
	if x.waits == nil {
		x.waits = &waitTexts{}
	}
	x.waits.unsure = true
}

// cutText returns a valid text of at most the given bytes.
func cutText(text string, limit int) string {
	const more = "..."
	if !utf8.ValidString(text) {
		text = string([]rune(text))
	}
	if len(text) <= limit {
		return text
	}
	cut := limit - len(more)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + more
}

// now returns the longest wait of code that is not over; the zero Waiting: there is none.
func (w *waitTexts) now() Waiting {
	if w != nil {
		for _, one := range w.list {
			if !one.co.over {
				return one.Waiting
			}
		}
	}
	return Waiting{}
}

// turn returns what the turn changes, nil if that is nothing.
func (w *waitTexts) turn(ended bool) (values []provider.KeyValue, attributes []provider.Attribute) {
	if w == nil {
		return nil, nil
	}
	now := w.now()
	if ended {
		now = Waiting{}
	}
	if now == w.stored && !w.unsure {
		return nil, nil
	}
	return []provider.KeyValue{now.value()}, []provider.Attribute{now.attribute()}
}

// confirm notes that the turn is stored.
func (w *waitTexts) confirm() {
	if w != nil {
		w.stored, w.unsure = w.now(), false
	}
}

// value returns the key-value; one without a Value deletes it.
func (w Waiting) value() provider.KeyValue {
	if w.Text == "" {
		return provider.KeyValue{Key: ValueWaiting}
	}
	data, _ := json.Marshal(w) //nolint:errchkjson // a text and a number can always be encoded
	return provider.KeyValue{Key: ValueWaiting, Value: data}
}

func (w Waiting) attribute() provider.Attribute {
	return provider.Attribute{Name: AttributeWaiting, Kind: provider.AttributeInt, Number: w.Since}
}

func (w *waitTexts) size() int {
	if w == nil {
		return 0
	}
	return (namedBytes + MaxWaiting) * len(w.list)
}
