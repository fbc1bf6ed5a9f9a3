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

// An entrance admits one transaction at a time to the file. Within the process, the store's writer and the program's
// transactions wait in one line, in order of arrival. The first in line then passes the turnstile of all processes.
type entrance struct {
	*turnstile

	patience time.Duration
	held     atomic.Pointer[origin] // the program's transaction that is inside

	line    sync.Mutex // guards what follows
	busy    bool
	waiting []chan struct{}
}

func openEntrance(path string, patience time.Duration) (*entrance, error) {
	t, err := openTurnstile(path, patience)
	if err != nil {
		return nil, err
	}
	return &entrance{turnstile: t, patience: patience}, nil
}

// enter waits for the caller's turn, until one of the channels is closed or patience has passed twice. Leave must follow.
func (e *entrance) enter(quits ...<-chan struct{}) error {
	err := e.stepUp(quits)
	if err != nil {
		return e.explain(err)
	}
	if err = e.turnstile.enter(quits...); err != nil {
		e.step()
	}
	return err
}

// leave lets the next one in.
func (e *entrance) leave() {
	e.turnstile.leave()
	e.step()
}

// stepUp waits for the place at the head of the process's line.
func (e *entrance) stepUp(quits []<-chan struct{}) error {
	e.line.Lock()
	if !e.busy {
		e.busy = true
		e.line.Unlock()
		return nil
	}
	mine := make(chan struct{})
	e.waiting = append(e.waiting, mine)
	e.line.Unlock()
	err := waitFor(mine, e.patience, quits)
	if err == nil {
		return nil
	}
	e.line.Lock()
	defer e.line.Unlock()
	i := slices.Index(e.waiting, mine)
	if i < 0 {
		return nil // the turn came meanwhile
	}
	e.waiting = slices.Delete(e.waiting, i, i+1)
	return err
}

// step gives the place to the first in line.
func (e *entrance) step() {
	e.line.Lock()
	defer e.line.Unlock()
	if len(e.waiting) == 0 {
		e.busy = false
		return
	}
	close(e.waiting[0])
	e.waiting = slices.Delete(e.waiting, 0, 1)
}

// explain names the transaction that keeps others waiting.
func (e *entrance) explain(err error) error {
	if held := e.held.Load(); held != nil && !errors.Is(err, errLeave) {
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
