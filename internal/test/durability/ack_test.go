package durability

import (
	"fmt"
	"regexp"
	"strings"
)

// what is the kind of an acknowledgement.
type what string

// Each implies that something is stored.
const (
	started  what = "started"  // client.Start returned
	paid     what = "paid"     // Raise returned
	packing  what = "packing"  // an activity began, so the turn that called it is stored
	asking   what = "asking"   // the same for an activity that ends later
	approved what = "approved" // client.CompleteActivity returned
	ended    what = "ended"    // Wait returned the outcome
)

// ack is an acknowledgement that somebody outside saw about an order.
type ack struct {
	what  what
	id    string
	token string // of the asking activity
}

// mark returns the text that the stored data contains before the acknowledgement may come.
func (t ack) mark() string { return string(t.what) + "-" + t.id }

// marks finds all marks in data written to a file. The number in an ID has a fixed length, so no mark is the beginning
// of another.
var marks = regexp.MustCompile(`(?:started|paid|packing|asking|approved|ended)-[a-z]\d{5}`)

func orderID(shop string, n int) string { return fmt.Sprintf("%s%05d", shop, n) }

// line returns the acknowledgement as processes send it.
func (t ack) line() string { return strings.TrimSpace(t.mark() + " " + t.token) }

// parse reads a line.
func parse(line string) (ack, error) {
	mark, token, _ := strings.Cut(line, " ")
	if marks.FindString(mark) != mark || mark == "" {
		return ack{}, fmt.Errorf("no acknowledgement: %q", line)
	}
	kind, id, _ := strings.Cut(mark, "-")
	return ack{what: what(kind), id: id, token: token}, nil
}
