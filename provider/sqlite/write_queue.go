package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A writeQueue admits one transaction at a time to the file. Within the process, the store's writer and the program's
// transactions wait in one queue, in order of arrival. The first one then takes the file lock of all processes.
type writeQueue struct {
	*fileLock

	timeout time.Duration
	holder  atomic.Pointer[origin] // the program's transaction that is inside

	queueMu sync.Mutex // guards what follows
	busy    bool
	waiting []chan struct{}
}

func openWriteQueue(path string, timeout time.Duration) (*writeQueue, error) {
	lock, err := openFileLock(path, timeout)
	if err != nil {
		return nil, err
	}
	return &writeQueue{fileLock: lock, timeout: timeout}, nil
}

// enter waits for the caller's turn, until one of the channels is closed or the timeout has passed twice. Leave must follow.
func (q *writeQueue) enter(quits ...<-chan struct{}) error {
	err := q.awaitFront(quits)
	if err != nil {
		return q.explain(err)
	}
	if err = q.fileLock.lock(quits...); err != nil {
		q.admitNext()
	}
	return err
}

// leave lets the next one in.
func (q *writeQueue) leave() {
	q.fileLock.unlock()
	q.admitNext()
}

// awaitFront waits for the place at the head of the process's queue.
func (q *writeQueue) awaitFront(quits []<-chan struct{}) error {
	q.queueMu.Lock()
	if !q.busy {
		q.busy = true
		q.queueMu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	q.waiting = append(q.waiting, mine)
	q.queueMu.Unlock()
	err := waitFor(mine, q.timeout, quits)
	if err == nil {
		return nil
	}
	q.queueMu.Lock()
	defer q.queueMu.Unlock()
	i := slices.Index(q.waiting, mine)
	if i < 0 {
		return nil // the turn came meanwhile
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return err
}

// admitNext gives the place to the first in the queue.
func (q *writeQueue) admitNext() {
	q.queueMu.Lock()
	defer q.queueMu.Unlock()
	if len(q.waiting) == 0 {
		q.busy = false
		return
	}
	close(q.waiting[0])
	q.waiting = slices.Delete(q.waiting, 0, 1)
}

// explain names the transaction that keeps others waiting.
func (q *writeQueue) explain(err error) error {
	if held := q.holder.Load(); held != nil && !errors.Is(err, errWaitEnded) {
		return fmt.Errorf("%w: BeginTx began it at %v; commit it or roll it back", err, held)
	}
	return err
}

// An origin is the place in the program where something began, and when.
type origin struct {
	pc    uintptr
	since time.Time
}

// caller returns the place from which the calling function was called.
func caller() uintptr {
	var pcs [1]uintptr
	runtime.Callers(3, pcs[:])
	return pcs[0]
}

func (o *origin) String() string {
	frame, _ := runtime.CallersFrames([]uintptr{o.pc}).Next()
	return fmt.Sprintf("%s:%d %v ago", filepath.Base(frame.File), frame.Line, time.Since(o.since).Round(time.Millisecond))
}
