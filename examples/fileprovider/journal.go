package fileprovider

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/perdure/perdure/provider"
)

// A record is a call that changed the store: one line of the journal, after its checksum.
type record struct {
	Number  int64           `json:"number"` // 1, 2, ...
	Synced  int64           `json:"synced"` // the records up to this one were on disk when this one was made
	At      provider.Time   `json:"at"`
	Op      string          `json:"op"`
	Request json.RawMessage `json:"request"`
}

// disk is what the journal needs of a file. Tests put one in its place that fails.
type disk interface {
	io.Writer
	Sync() error
}

// journal puts records on disk, many at a time: while one group is being synced, the next gathers.
type journal struct {
	disk disk
	wake chan struct{} // holds one: something has gathered
	over chan struct{} // closed when run is over

	mu        sync.Mutex
	number    int64
	synced    int64
	gathering *group
	newest    *group // with records; all before it are on disk once it is
	failed    error
}

// A group is what one sync puts on disk.
type group struct {
	lines []byte
	last  int64 // number of its last record
	done  chan struct{}
	err   error // once done
}

// startJournal goes on after the record number; its goroutine ends with close.
func startJournal(d disk, number int64) *journal {
	j := &journal{
		disk: d, wake: make(chan struct{}, 1), over: make(chan struct{}), number: number, synced: number,
		gathering: &group{done: make(chan struct{})}, newest: &group{done: make(chan struct{})},
	}
	close(j.newest.done)
	go j.run()
	return j
}

// append adds a record to the group that gathers. The caller waits for the newest group before it answers anybody.
func (j *journal) append(at provider.Time, op string, request []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.number++
	line, err := encode(record{Number: j.number, Synced: j.synced, At: at, Op: op, Request: request})
	if err != nil {
		j.failed = err // memory is ahead of the disk
		return err
	}
	j.gathering.lines = append(j.gathering.lines, line...)
	j.gathering.last = j.number
	j.newest = j.gathering
	select {
	case j.wake <- struct{}{}:
	default: // it has been told already
	}
	return nil
}

// state answers the group on which everything rests that was applied so far, and why nothing can be any more.
func (j *journal) state() (newest *group, failed error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.newest, j.failed
}

func (j *journal) run() {
	defer close(j.over)
	for range j.wake {
		j.mu.Lock()
		g := j.gathering
		j.gathering = &group{done: make(chan struct{})}
		failed := j.failed
		j.mu.Unlock()
		if failed == nil {
			failed = j.store(g.lines)
		}
		g.err = failed
		j.mu.Lock()
		j.failed = failed
		if failed == nil {
			j.synced = g.last
		}
		j.mu.Unlock()
		close(g.done)
	}
}

// store puts a group on disk. After a failed sync nobody knows what is there, and a second one could
// say that all is well: so the first failure is the last word of this journal.
func (j *journal) store(lines []byte) error {
	if _, err := j.disk.Write(lines); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	if err := j.disk.Sync(); err != nil {
		return fmt.Errorf("sync the journal: %w", err)
	}
	return nil
}

// close ends the journal once all that was appended is on disk; nothing may be appended any more.
func (j *journal) close() {
	close(j.wake)
	<-j.over
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli) //nolint:gochecknoglobals // constant table

// encode makes the line of a record.
func encode(r record) ([]byte, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode a record: %w", err)
	}
	return fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(data, castagnoli), data), nil
}

// decode reads the line of a record; ok is false if it is torn or damaged.
func decode(line []byte) (r record, ok bool) {
	const sum = 8
	if len(line) < sum+2 || line[sum] != ' ' || line[len(line)-1] != '\n' {
		return r, false
	}
	data := line[sum+1 : len(line)-1]
	if string(line[:sum]) != fmt.Sprintf("%08x", crc32.Checksum(data, castagnoli)) {
		return r, false
	}
	return r, json.Unmarshal(data, &r) == nil
}
