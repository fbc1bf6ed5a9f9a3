package fileprovider

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/kit"
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
	disk   disk
	syncer *kit.Syncer

	mu        sync.Mutex
	number    int64
	synced    int64
	gathering []byte // lines that the next sync writes
	failed    error  // memory is ahead of the disk for good
}

// newJournal continues after the record number.
func newJournal(d disk, number int64) *journal {
	j := &journal{disk: d, number: number, synced: number}
	j.syncer = kit.NewSyncer(j.store)
	return j
}

// append adds a record to the gathering lines. The caller must wait before it returns a result.
func (j *journal) append(at provider.Time, op string, request []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.number++
	line, err := encode(record{Number: j.number, Synced: j.synced, At: at, Op: op, Request: request})
	if err != nil {
		j.failed = err
		return err
	}
	j.gathering = append(j.gathering, line...)
	j.syncer.Wrote()
	return nil
}

// wait returns once all records so far are on disk.
func (j *journal) wait(ctx context.Context, op string) error { return j.syncer.Wait(ctx, op) }

// stopped returns the error that stops the journal, nil for none.
func (j *journal) stopped() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		return j.failed
	}
	return j.syncer.Failed()
}

// store writes the gathering lines to disk. After a failed sync the content of the disk is unknown, and a second sync could
// succeed wrongly. So the first failure stops the journal for good.
func (j *journal) store() error {
	j.mu.Lock()
	lines, last := j.gathering, j.number
	j.gathering = nil
	j.mu.Unlock()
	if len(lines) == 0 { // the sync before took them
		return nil
	}
	if _, err := j.disk.Write(lines); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	if err := j.disk.Sync(); err != nil {
		return fmt.Errorf("sync the journal: %w", err)
	}
	j.mu.Lock()
	j.synced = last
	j.mu.Unlock()
	return nil
}

// close stores what callers left that gave up. No call may be in progress.
func (j *journal) close() error {
	if failed := j.stopped(); failed == nil {
		return j.store()
	}
	return nil // the calls have returned the failure
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
