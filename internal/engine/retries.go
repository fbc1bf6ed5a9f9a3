package engine

import (
	"maps"

	"github.com/perdure/perdure/provider"
)

const (
	// maxClosingRounds is how often a closing turn is repeated because messages arrived. After that they go to the dead letters.
	maxClosingRounds = 3

	// maxHeldTurns is how many turns of an instance that closes only store messages. Messages that come faster than turns store them would
	// keep its code waiting for ever. The held messages reach the code in one turn, whose commit has a limit.
	maxHeldTurns = 4

	// maxPanicked is of how many updates of an instance a node remembers that their handlers panicked. One turn may decide about as
	// many: those that waited for the code, and those of its fetch.
	maxPanicked = 2 * provider.MaxFetchMessages
)

// Closing is what a node remembers of an instance since a commit ended it or it conflicted: the ends that the store refused, because messages
// waited, and the turns that failed. A Closing is a value; its methods return the next one.
type Closing struct {
	Rounds   int               // ends that the store refused
	Held     int               // turns that only stored messages
	OneByOne bool              // the code gets waiting messages one by one
	Panicked map[string]string // updates whose handlers panicked, by ID; never changed
}

// Refused counts an end that the store refused. The next turn has to give the code all messages.
func (c Closing) Refused() Closing {
	c.Rounds, c.OneByOne = c.Rounds+1, false
	return c
}

// Repeated reports whether the end was refused so often that what waits goes to the dead letters.
func (c Closing) Repeated() bool { return c.Rounds >= maxClosingRounds }

// MayHold reports whether a turn may only store its messages, as long as more of them wait.
func (c Closing) MayHold() bool { return c.Rounds > 0 && c.Held < maxHeldTurns }

// Hold counts a turn that only stored messages.
func (c Closing) Hold() Closing {
	c.Held++
	return c
}

// SetOneByOne says that the code gets waiting messages one by one.
func (c Closing) SetOneByOne() Closing {
	c.OneByOne = true
	return c
}

// AfterTurn returns what remains when the code goes on after a turn. If it was given all messages, they need not come one by one any more.
func (c Closing) AfterTurn(all bool) Closing {
	if !c.OneByOne || all {
		return Closing{}
	}
	return Closing{OneByOne: true}
}

// Panic remembers that the handler of an update panicked, so that the next turn rejects the update. It returns false if there are too many.
func (c Closing) Panic(id, value string) (Closing, bool) {
	if len(c.Panicked) >= maxPanicked {
		return c, false
	}
	all := make(map[string]string, len(c.Panicked)+1)
	maps.Copy(all, c.Panicked)
	all[id] = value
	c.Panicked = all
	return c, true
}

// None reports whether there is nothing to remember.
func (c Closing) None() bool {
	return c.Rounds == 0 && c.Held == 0 && !c.OneByOne && len(c.Panicked) == 0
}
