package faulty

import (
	"fmt"
	"slices"
)

// Strike is an injected fault in the Call-th call of Op.
type Strike struct {
	Op   Op
	Call int
	Kind Kind
}

// String returns a line for a test's log, such as "commit turn 12: after".
func (s Strike) String() string { return fmt.Sprintf("%s %d: %s", s.Op, s.Call, s.Kind) }

// strike logs a fault; the caller holds the lock.
func (p *Plan) strike(op Op, kind Kind) {
	p.log = append(p.log, Strike{Op: op, Call: p.calls[op], Kind: kind})
}

// Log returns the injected faults so far, in order. A call that failed in an outage or without a connection has kind Before.
func (p *Plan) Log() []Strike {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.log)
}

// Injected returns the number of faults injected into calls of op, delays included.
func (p *Plan) Injected(op Op) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.log {
		if s.Op == op {
			n++
		}
	}
	return n
}
