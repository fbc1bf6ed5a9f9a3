package fileprovider

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/perdure/perdure/provider"
)

// record is a call that changed the store. It is one line of the journal, after its checksum.
type record struct {
	Number  int64           `json:"number"` // 1, 2, ...
	Synced  int64           `json:"synced"` // records up to this number were on disk when this one was written
	At      provider.Time   `json:"at"`
	Op      string          `json:"op"`
	Request json.RawMessage `json:"request"`
}

// disk is the part of a file that the journal uses. Tests replace it with a failing one.
type disk interface {
	io.Writer
	Sync() error
}

// journal writes records to disk in groups: while one group is synced, the next one gathers.
type journal struct {
	disk disk
	wake chan struct{} // capacity 1: records are waiting
	over chan struct{} // closed when run returns

	mu        sync.Mutex
	number    int64
	synced    int64
	gathering *group
	newest    *group // last group with records; everything before it is on disk once it is
	failed    error
}

// group is the set of records that one sync writes.
type group struct {
	lines []byte
	last  int64 // number of its last record
	done  chan struct{}
	err   error // set before done is closed
}

// startJournal continues after the record number. Its goroutine ends with close.
func startJournal(d disk, number int64) *journal {
	j := &journal{
		disk: d, wake: make(chan struct{}, 1), over: make(chan struct{}), number: number, synced: number,
		gathering: &group{done: make(chan struct{})}, newest: &group{done: make(chan struct{})},
	}
	close(j.newest.done)
	go j.run()
	return j
}

// append adds a record to the gathering group. The caller must wait for the newest group before it returns a
// result.
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
	default: // run has been woken already
	}
	return nil
}

// state returns the group that all results so far depend on, and the error that stops the journal, if any.
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

// store writes a group to disk. After a failed sync the content of the disk is unknown, and a second sync could
// succeed wrongly. So the first failure stops the journal for good.
func (j *journal) store(lines []byte) error {
	if _, err := j.disk.Write(lines); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	if err := j.disk.Sync(); err != nil {
		return fmt.Errorf("sync the journal: %w", err)
	}
	return nil
}

// close ends the journal once all appended records are on disk. No record may be appended afterwards.
func (j *journal) close() {
	close(j.wake)
	<-j.over
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli) //nolint:gochecknoglobals // constant table

// encode returns the line of a record.
func encode(r record) ([]byte, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode a record: %w", err)
	}
	return fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(data, castagnoli), data), nil
}

// decode parses the line of a record. ok is false if the line is torn or damaged.
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
