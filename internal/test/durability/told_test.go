package durability

import (
	"fmt"
	"regexp"
	"strings"
)

// what is it that somebody outside was told of?
type what string

// Each implies that something is stored.
const (
	started  what = "started"  // client.Start returned
	paid     what = "paid"     // Raise returned
	packing  what = "packing"  // an activity began, so the turn that asked for it is stored
	asking   what = "asking"   // the same, of an activity that ends later
	approved what = "approved" // client.CompleteActivity returned
	ended    what = "ended"    // Wait returned the outcome
)

// told is what somebody outside was told about an order.
type told struct {
	what  what
	id    string
	token string // of the activity that is asking
}

// mark is the text that stands in what is stored, from the moment on that it may be told.
func (t told) mark() string { return string(t.what) + "-" + t.id }

// marks finds all marks in what is written to a file. The number in an ID has a fixed length, so that no mark begins with another one.
var marks = regexp.MustCompile(`(?:started|paid|packing|asking|approved|ended)-[a-z]\d{5}`)

func orderID(shop string, n int) string { return fmt.Sprintf("%s%05d", shop, n) }

// line is how one process tells another.
func (t told) line() string { return strings.TrimSpace(t.mark() + " " + t.token) }

// parse reads a line.
func parse(line string) (told, error) {
	mark, token, _ := strings.Cut(line, " ")
	if marks.FindString(mark) != mark || mark == "" {
		return told{}, fmt.Errorf("nobody tells %q", line)
	}
	kind, id, _ := strings.Cut(mark, "-")
	return told{what: what(kind), id: id, token: token}, nil
}
