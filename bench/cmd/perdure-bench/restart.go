package main

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/perdure/perdure/examples/order"
)

// restart is what the timeline of the demo tells of the kill. Moments count from its beginning; 0 means never.
type restart struct {
	id        string // of the order's instance
	packed    int    // steps that the killed worker had done
	killed    bool
	restarted time.Duration // when the second worker was started
	turn      time.Duration // of the first event after the kill
	taken     time.Duration // when the second worker resumed packing
	resumedAt int           // last step before packing resumed
}

// timelineLine matches a line of the timeline: when, from whom, what.
var timelineLine = regexp.MustCompile(`^ *(\d+\.\d{3}s)  (\w+) +(.*)$`)

// read takes a line that the demo prints.
func (r *restart) read(line string) {
	parts := timelineLine.FindStringSubmatch(line)
	if parts == nil {
		return
	}
	at, err := time.ParseDuration(parts[1])
	if err != nil {
		return
	}
	text := parts[3]
	switch from := parts[2]; {
	case from == "client" && r.id == "":
		r.id = strings.TrimPrefix(text, "started ")
	case from == "process" && strings.HasSuffix(text, " killed with SIGKILL"):
		r.killed = true
	case !r.killed:
		_, _ = fmt.Sscanf(text, order.PackName+" did step %d", &r.packed) // of other lines it takes nothing
	case from == "process" && strings.HasSuffix(text, " started"):
		r.restarted = at
	case from == "history" && r.turn == 0:
		r.turn = at
	case from == "activity" && r.taken == 0 && begins(text):
		r.taken = at
		_, _ = fmt.Sscanf(text, order.PackName+" resumes after step %d", &r.resumedAt) // else it began anew
	}
}

// begins reports whether a line says that an attempt of packing begins.
func begins(text string) bool {
	what, isPacking := strings.CutPrefix(text, order.PackName+" ")
	return isPacking && (strings.HasPrefix(what, "resumes ") || strings.Contains(what, " begins"))
}
