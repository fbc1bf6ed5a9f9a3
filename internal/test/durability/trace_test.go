package durability

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc64"
	"slices"
	"strings"
	"testing"
)

// deed is an action of a process that matters to the disk or to those outside.
type deed uint8

const (
	none    deed = iota // nothing that matters
	wrote               // a write to a file has returned
	syncing             // a sync of a file begins
	synced              // a sync has ended
	acking              // an acknowledgement is about to be sent
)

// step is one deed. A trace is a list of steps in their order.
type step struct {
	deed deed
	file string // its path
	at   int64  // of a write
	data []byte // of a write
	sync int    // identifies overlapping syncs
	ack  ack
}

// These are sizes in files of SQLite. A frame of the log is a header and a page. The header begins with the page's
// number. Then comes the size of the file in the last frame of a commit, and zero in others.
const (
	pageSize    = 4096
	frameHeader = 24
	logHeader   = 32
)

// auditor follows a trace and records what breaks the rules of a write-ahead log.
type auditor struct {
	breaches []breach
	acked    map[what]int // how many of each kind were checked
	moved    int          // pages that moved from the log to the file
	logs     int          // how often the log began

	now     int
	begun   bool             // there is a log; before that the file is only being created
	header  map[int64][]byte // of frames, by their offset, until the page comes
	end     int64            // of the log
	frames  []frame          // of the log, all that were ever written
	commits []int            // steps at which a commit was complete
	bearers map[string]int   // of a mark: the number of the first commit with it
	open    []string         // marks in frames since the last commit
	pushed  int              // step up to which the log is on disk
	moves   int              // step of the last write to the file
	settled int              // step up to which the file is on disk
	syncs   map[int]int      // when the syncs in progress began
	durable map[uint64]bool  // pages with their content, on disk
}

type frame struct {
	step  int
	image uint64
}

// breach is a broken rule.
type breach struct{ rule, detail string }

// These are the rules.
const (
	ackedEarly = "acknowledged before its commit was on disk"
	movedEarly = "moved to the file before the log was on the disk"
	strange    = "the log was written in another way than this test knows"
	anewEarly  = "the log began anew before the file was on the disk"
)

// audit returns the auditor with all breaches of a trace.
func audit(trace []step) *auditor {
	a := &auditor{
		acked: make(map[what]int), header: make(map[int64][]byte), bearers: make(map[string]int), syncs: make(map[int]int), durable: make(map[uint64]bool),
	}
	for i := range trace {
		a.now = i + 1
		switch s := &trace[i]; s.deed {
		case wrote:
			if strings.HasSuffix(s.file, "-wal") {
				a.logged(s)
			} else if a.begun && strings.HasSuffix(s.file, ".db") {
				a.filed(s)
			}
		case syncing:
			a.syncs[s.sync] = a.now
		case synced:
			a.pushedTo(s)
		case acking:
			a.acknowledged(s.ack)
		}
	}
	return a
}

func (a *auditor) breachf(rule, format string, args ...any) {
	a.breaches = append(a.breaches, breach{rule, fmt.Sprintf("step %d: ", a.now) + fmt.Sprintf(format, args...)})
}

// logged follows a write to the log.
func (a *auditor) logged(s *step) {
	a.begun = true
	switch {
	case s.at == 0:
		a.logs++
		a.end = logHeader
		if a.moves > a.settled {
			a.breachf(anewEarly, "the file was written at %d and synced up to %d", a.moves, a.settled)
		}
	case len(s.data) == frameHeader && (s.at-logHeader)%(frameHeader+pageSize) == 0:
		a.header[s.at] = s.data
	case len(s.data) == pageSize && a.header[s.at-frameHeader] != nil:
		a.framed(a.header[s.at-frameHeader], s.data)
		a.end = s.at + pageSize
	case s.at >= a.end && len(bytes.Trim(s.data, "\x00")) == 0: // room for later frames
	default:
		a.breachf(strange, "%d bytes at %d", len(s.data), s.at)
	}
}

func (a *auditor) framed(header, page []byte) {
	number, size := binary.BigEndian.Uint32(header), binary.BigEndian.Uint32(header[4:])
	a.frames = append(a.frames, frame{a.now, image(number, page)})
	for _, mark := range marks.FindAll(page, -1) {
		a.open = append(a.open, string(mark))
	}
	if size == 0 {
		return
	}
	for _, mark := range a.open {
		if _, ok := a.bearers[mark]; !ok {
			a.bearers[mark] = len(a.commits)
		}
	}
	a.open, a.commits = a.open[:0], append(a.commits, a.now)
}

// image returns a hash of a page with its content.
func image(number uint32, page []byte) uint64 {
	return crc64.Update(uint64(number), crc64.MakeTable(crc64.ECMA), page)
}

// filed follows a write to the file: a page moves there from the log.
func (a *auditor) filed(s *step) {
	a.moves = a.now
	a.moved++
	if number := uint32(s.at/pageSize) + 1; !a.durable[image(number, s.data)] {
		a.breachf(movedEarly, "page %d", number)
	}
}

// pushedTo follows the end of a sync: everything written before its beginning is on disk.
func (a *auditor) pushedTo(s *step) {
	began, ok := a.syncs[s.sync]
	if !ok {
		return
	}
	delete(a.syncs, s.sync)
	switch {
	case strings.HasSuffix(s.file, "-wal"):
		a.pushed = max(a.pushed, began)
		for len(a.frames) > 0 && a.frames[0].step < began {
			a.durable[a.frames[0].image] = true
			a.frames = a.frames[1:]
		}
	case strings.HasSuffix(s.file, ".db"):
		a.settled = max(a.settled, began)
	}
}

// acknowledged follows an acknowledgement: its commit must be on disk.
func (a *auditor) acknowledged(t ack) {
	a.acked[t.what]++
	n, ok := a.bearers[t.mark()]
	switch {
	case !ok:
		a.breachf(ackedEarly, "%s was not even written", t.mark())
	case a.commits[n] > a.pushed:
		a.breachf(ackedEarly, "%s was written at %d, and the log is on the disk up to %d", t.mark(), a.commits[n], a.pushed)
	}
}

// enough is the number of orders after which the log has restarted, which it does after at most 2,000 pages.
const enough = 50

// careful fails the test for each breach, and if the trace did not show everything to be checked.
func careful(t *testing.T, a *auditor) {
	t.Helper()
	for _, b := range a.breaches[:min(len(a.breaches), 10)] {
		t.Errorf("%s: %s", b.rule, b.detail)
	}
	for _, w := range []what{started, paid, packing, asking, approved, ended} {
		if a.acked[w] < enough {
			t.Errorf("of %d orders %d are acknowledged as %s", enough, a.acked[w], w)
		}
	}
	if a.logs < 2 || a.moved == 0 {
		t.Error("the log did not begin anew")
	}
	t.Logf("%d steps, %d commits, %d logs, %d pages moved, acknowledged: %v", a.now, len(a.commits), a.logs, a.moved, a.acked)
}

// careless fails the test unless the auditor has found breaches of exactly these rules.
func careless(t *testing.T, a *auditor, rules ...string) {
	t.Helper()
	found := make(map[string]int)
	for _, b := range a.breaches {
		found[b.rule]++
	}
	for _, rule := range rules {
		if found[rule] == 0 {
			t.Errorf("not found in a store that does not sync: %s", rule)
		}
	}
	for rule := range found {
		if !slices.Contains(rules, rule) {
			t.Errorf("found beside: %s", rule)
		}
	}
	t.Logf("found as it must be: %v", found)
}

// The auditor finds each of the breaches, and nothing in a correct trace.
func TestAuditorSeesEachBreach(t *testing.T) {
	const log, file = "/x/store.db-wal", "/x/store.db"
	one := ack{what: started, id: "a00001"}
	page := append([]byte(one.mark()), make([]byte, pageSize-len(one.mark()))...)
	header := func(size byte) step {
		return step{deed: wrote, file: log, at: logHeader, data: append([]byte{0, 0, 0, 2, 0, 0, 0, size}, make([]byte, 16)...)}
	}
	begin := step{deed: wrote, file: log, data: make([]byte, logHeader)}
	frame := step{deed: wrote, file: log, at: logHeader + frameHeader, data: page}
	move := step{deed: wrote, file: file, at: pageSize, data: page}
	other := step{deed: wrote, file: file, at: pageSize, data: bytes.Repeat([]byte{1}, pageSize)}
	syncLog, endLog := step{deed: syncing, file: log, sync: 1}, step{deed: synced, file: log, sync: 1}
	syncFile, endFile := step{deed: syncing, file: file, sync: 2}, step{deed: synced, file: file, sync: 2}
	ackStep := step{deed: acking, ack: one}
	for name, c := range map[string]struct {
		trace []step
		rule  string
	}{
		"nothing":                 {[]step{begin, header(9), frame, syncLog, endLog, ackStep, move, syncFile, endFile, begin}, ""},
		"no sync":                 {[]step{begin, header(9), frame, ackStep}, ackedEarly},
		"sync begins too early":   {[]step{begin, header(9), syncLog, frame, endLog, ackStep}, ackedEarly},
		"sync ends too late":      {[]step{begin, header(9), frame, syncLog, ackStep, endLog}, ackedEarly},
		"sync of another file":    {[]step{begin, header(9), frame, syncFile, endFile, ackStep}, ackedEarly},
		"no end of the commit":    {[]step{begin, header(0), frame, syncLog, endLog, ackStep}, ackedEarly},
		"zeros behind the log":    {[]step{begin, header(9), frame, {deed: wrote, file: log, at: 9000, data: make([]byte, 8)}, syncLog, endLog, ackStep}, ""},
		"zeros into the log":      {[]step{begin, header(9), frame, {deed: wrote, file: log, at: 90, data: make([]byte, 8)}}, strange},
		"nothing is written":      {[]step{begin, syncLog, endLog, ackStep}, ackedEarly},
		"moved before the sync":   {[]step{begin, header(9), frame, move}, movedEarly},
		"moved is something else": {[]step{begin, header(9), frame, syncLog, endLog, other}, movedEarly},
		"anew before the sync":    {[]step{begin, header(9), frame, syncLog, endLog, move, syncFile, begin, endFile}, anewEarly},
	} {
		a := audit(c.trace)
		if c.rule == "" && len(a.breaches) > 0 || c.rule != "" && (len(a.breaches) != 1 || a.breaches[0].rule != c.rule) {
			t.Errorf("%s: found %v, must be %q", name, a.breaches, c.rule)
		}
	}
}
