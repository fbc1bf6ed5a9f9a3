package relational

import "github.com/perdure/perdure/provider"

// journal undoes one member. It holds the heads as the member found them.
type journal struct {
	begun bool
	at    map[provider.UUID]int // indexes of was
	was   []Head                // the zero Head for one that the member created
}

// begin starts the journal of the next member.
func (j *journal) begin() {
	if j.at == nil {
		j.at = make(map[provider.UUID]int)
	}
	clear(j.at)
	j.begun, j.was = true, j.was[:0]
}

// note records a head before the member changes it.
func (j *journal) note(key provider.UUID, was *Head) {
	if !j.begun {
		return
	}
	if _, known := j.at[key]; !known {
		j.at[key] = len(j.was)
		j.was = append(j.was, *was)
	}
}

// undo restores the heads and removes those that the member created.
func (j *journal) undo(heads map[provider.UUID]*Head) {
	for key, at := range j.at {
		if j.was[at].Key.IsZero() {
			delete(heads, key)
			continue
		}
		*heads[key] = j.was[at]
	}
	j.begun = false
}
