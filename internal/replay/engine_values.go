package replay

import (
	"encoding/json"
	"strings"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// The engine's own key-values of an instance, as JSON. Clients show them.
const (
	ValueClosing = reserved + "closing" // a Closing, while handlers go on after the main function
	ValueUnread  = reserved + "unread"  // an Unread, of an ended instance
)

// Closing says which handlers go on when the main function has returned.
type Closing struct {
	Since    int64         `json:"since"` // microseconds UTC
	Handlers []RunningName `json:"handlers"`
}

// RunningName counts the running handlers of a name.
type RunningName struct {
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// Unread counts the events of an ended instance that code did not take, by name. Names beyond maxShown are under "".
type Unread map[string]int

// maxShown bounds the names of handlers or events that are shown.
const maxShown = 100

// IsReserved reports whether a key-value or an attribute is the engine's own.
func IsReserved(name string) bool { return strings.HasPrefix(name, reserved) }

// shown returns the engine's key-values that the turn changes.
func (x *Execution) shown() (values []provider.KeyValue) {
	if c := x.closing; c != nil {
		switch now := x.showClosing(); {
		case x.end != nil && c.stored != "":
			values = append(values, provider.KeyValue{Key: ValueClosing})
		case x.end == nil && now != c.stored:
			values = append(values, provider.KeyValue{Key: ValueClosing, Value: []byte(now)})
		}
	}
	if x.end == nil || x.end.Next != nil || x.boxes.bytes == 0 {
		return values
	}
	if unread := x.countUnread(); len(unread) > 0 {
		data, _ := json.Marshal(unread) //nolint:errchkjson // names and numbers can always be encoded
		values = append(values, provider.KeyValue{Key: ValueUnread, Value: data})
	}
	return values
}

// showClosing returns the Closing of now.
func (x *Execution) showClosing() string {
	shown := Closing{Since: x.closing.since}
	at := make(map[[2]string]int)
	for e := x.job.runs.Front(); e != nil; e = e.Next() {
		r := e.Value.(*handlerRun)
		key := [2]string{r.kind, r.name}
		i, ok := at[key]
		if !ok && len(at) == maxShown {
			continue
		}
		if !ok {
			i = len(shown.Handlers)
			at[key] = i
			shown.Handlers = append(shown.Handlers, RunningName{Kind: r.kind, Name: r.name})
		}
		shown.Handlers[i].Count++
	}
	data, _ := json.Marshal(shown) //nolint:errchkjson // names and numbers can always be encoded
	return string(data)
}

func (x *core) countUnread() Unread {
	counts := make(Unread)
	for _, e := range x.unread() {
		name := e.Body.(*history.EventReceived).Name
		if _, known := counts[name]; !known && len(counts) >= maxShown {
			name = ""
		}
		counts[name]++
	}
	return counts
}
