package replay

import (
	"errors"
	"sync"
)

// errSpeculative fails a turn that may be thrown away, where its code does more than ask for things.
var errSpeculative = errors.New("a side effect in a turn that may be thrown away")

// Speculate says, before anything is applied, that the turn may be thrown away though no node is lost: its instance is not stored yet.
// Until Confirm it leaves no trace: what code logs is held back, and a side effect fails the turn.
func (x *Execution) Speculate() { x.held.Store(&heldLog{}) }

// mustBeStored fails a speculative turn.
func (x *Execution) mustBeStored() {
	if x.held.Load() != nil {
		x.fail(errSpeculative)
		x.current.Load().park()
	}
}

// heldLog is what code has logged in a speculative turn.
type heldLog struct {
	mu    sync.Mutex // code may log from other goroutines, too
	lines []func()
}

// holdBack keeps what code logs in a speculative turn; false if the turn is none.
func (x *Execution) holdBack(line func()) bool {
	held := x.held.Load()
	if held == nil {
		return false
	}
	held.mu.Lock()
	defer held.mu.Unlock()
	held.lines = append(held.lines, line)
	return true
}

// tell writes what was held back: the turn is stored.
func (x *Execution) tell() {
	held := x.held.Swap(nil)
	if held == nil {
		return
	}
	held.mu.Lock()
	defer held.mu.Unlock()
	for _, line := range held.lines {
		told(line)
	}
}

// told calls a handler of the user's, which must not spoil a turn that is stored.
func told(line func()) {
	defer func() { _ = recover() }()
	line()
}
