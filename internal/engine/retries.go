package engine

import (
	"maps"

	"github.com/perdure/perdure/provider"
)

const (
	// maxRounds is how often a turn that ends is repeated because messages arrived. After that they go to the dead letters.
	maxRounds = 3

	// maxHeldTurns is how many turns of an instance that closes only store messages. Messages that come faster than turns store them would
	// keep its code waiting for ever. The held messages reach the code in one turn, whose commit has a limit.
	maxHeldTurns = 4

	// maxPanicked is of how many updates of an instance a node remembers that their handlers panicked. One turn may decide about as
	// many: those that waited for the code, and those of its fetch.
	maxPanicked = 2 * provider.MaxFetchMessages
)

// Retries is what a node remembers of turns that an instance has to make again: ends that the store refused because messages waited, and
// turns that failed. It is a value; its methods return the next one.
type Retries struct {
	Rounds   int               // ends that the store refused
	Held     int               // turns that only stored messages
	OneByOne bool              // the code gets waiting messages one by one
	Panicked map[string]string // updates whose handlers panicked, by ID; never changed
}

// Refused counts an end that the store refused. The next turn has to give the code all messages.
func (r Retries) Refused() Retries {
	r.Rounds, r.OneByOne = r.Rounds+1, false
	return r
}

// Repeated reports whether the end was refused so often that what waits goes to the dead letters.
func (r Retries) Repeated() bool { return r.Rounds >= maxRounds }

// MayHold reports whether a turn may only store its messages, as long as more of them wait.
func (r Retries) MayHold() bool { return r.Rounds > 0 && r.Held < maxHeldTurns }

// Hold counts a turn that only stored messages.
func (r Retries) Hold() Retries {
	r.Held++
	return r
}

// SetOneByOne says that the code gets waiting messages one by one.
func (r Retries) SetOneByOne() Retries {
	r.OneByOne = true
	return r
}

// AfterTurn returns what remains when the code goes on after a turn. If it was given all messages, they need not come one by one any more.
func (r Retries) AfterTurn(all bool) Retries {
	if !r.OneByOne || all {
		return Retries{}
	}
	return Retries{OneByOne: true}
}

// Panic remembers that the handler of an update panicked, so that the next turn rejects the update. It returns false if there are too many.
func (r Retries) Panic(id, value string) (Retries, bool) {
	if len(r.Panicked) >= maxPanicked {
		return r, false
	}
	all := make(map[string]string, len(r.Panicked)+1)
	maps.Copy(all, r.Panicked)
	all[id] = value
	r.Panicked = all
	return r, true
}

// None reports whether there is nothing to remember.
func (r Retries) None() bool {
	return r.Rounds == 0 && r.Held == 0 && !r.OneByOne && len(r.Panicked) == 0
}
