package turn

import (
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

func (as *actors) holds(key provider.UUID) bool {
	as.mu.Lock()
	defer as.mu.Unlock()
	return as.byKey[key] != nil
}

// checkout takes the execution of an idle actor. If the actor is busy, the checkout comes through later.
func (as *actors) checkout(key provider.UUID) (l *Checkout, later chan *Checkout) {
	as.mu.Lock()
	defer as.mu.Unlock()
	a, ok := as.byKey[key]
	switch {
	case !ok:
		return nil, nil
	case a.busy:
		later = make(chan *Checkout, 1)
		a.queries = append(a.queries, later)
		return nil, later
	}
	as.work.Add()
	return a.checkout(), nil
}

// checkout takes the execution of an actor that has one and is not busy. It needs actors.mu.
func (a *actor) checkout() *Checkout {
	a.busy, a.checkedOut = true, true
	return &Checkout{X: a.x, Version: a.version, a: a}
}

// leaveQueue gives up waiting for a checkout. It returns false if it has come or will come at once.
func (as *actors) leaveQueue(key provider.UUID, later chan *Checkout) bool {
	as.mu.Lock()
	defer as.mu.Unlock()
	a, ok := as.byKey[key]
	if !ok {
		return false
	}
	for i, waiting := range a.queries {
		if waiting == later {
			a.queries = append(a.queries[:i:i], a.queries[i+1:]...)
			return true
		}
	}
	return false
}

// checkoutNext gives to the query that has waited longest the execution of an actor that has just become idle, or tells all that there is
// none. It needs actors.mu.
func (as *actors) checkoutNext(a *actor) {
	if len(a.queries) == 0 {
		return
	}
	if a.gone || a.x == nil {
		a.refuseQueries()
		return
	}
	next := a.queries[0]
	a.queries = a.queries[1:]
	as.work.Add()
	next <- a.checkout()
}

// refuseQueries tells all waiting queries that there is no execution. It needs actors.mu.
func (a *actor) refuseQueries() {
	for _, waiting := range a.queries {
		waiting <- nil
	}
	a.queries = nil
}

// endCheckout ends a checkout. If drive is true, turns wait and the caller makes them; it stays counted as work. The caller closes the
// execution that is returned: it was evicted meanwhile.
func (as *actors) endCheckout(a *actor, back bool) (drive bool, closing *replay.Execution) {
	as.mu.Lock()
	defer as.mu.Unlock()
	a.checkedOut = false
	if back && a.idle == nil {
		closing = a.x
	}
	if !back || closing != nil {
		a.x = nil
	}
	if len(a.waiting) > 0 || a.x == nil {
		as.unlist(a)
	}
	if len(a.waiting) > 0 {
		return true, closing
	}
	a.busy = false
	if a.x == nil {
		delete(as.byKey, a.key)
		a.gone = true
	}
	as.checkoutNext(a)
	return false, closing
}

// unlist takes an actor off the list of idle ones. It needs actors.mu.
func (as *actors) unlist(a *actor) {
	if a.idle != nil {
		as.lru.Remove(a.idle)
		as.bytes -= a.size
		a.idle = nil
	}
}
