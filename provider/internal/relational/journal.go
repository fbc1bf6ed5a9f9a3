package relational

import "github.com/perdure/perdure/provider"

// journal undoes one member. It holds the heads as the member found them.
type journal struct {
	begun   bool
	touched int                   // how many instances the members before it have touched
	at      map[provider.UUID]int // indexes of was
	was     []headBefore
}

// headBefore is a head as a member found it, and where: the zero Head for one that the member created.
type headBefore struct {
	Head

	place *Head
}

// begin starts the journal of the next member.
func (j *journal) begin(touched int) {
	if j.at == nil {
		j.at = make(map[provider.UUID]int)
	}
	clear(j.at)
	j.begun, j.touched, j.was = true, touched, j.was[:0]
}

// note records a head before the member changes it: nil for one that the member creates.
func (j *journal) note(key provider.UUID, was *Head) {
	if !j.begun {
		return
	}
	if _, known := j.at[key]; !known {
		j.at[key] = len(j.was)
		before := headBefore{place: was}
		if was != nil {
			before.Head = *was
		}
		j.was = append(j.was, before)
	}
}

// undo restores the heads and removes those that the member created.
func (j *journal) undo(heads map[provider.UUID]*Head) {
	for key, at := range j.at {
		was := &j.was[at]
		if was.place == nil {
			delete(heads, key)
			continue
		}
		*was.place, heads[key] = was.Head, was.place
	}
	j.begun = false
}
