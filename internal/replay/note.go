package replay

// maxNotes bounds the notes of a turn.
const maxNotes = 100

// Note is a figure that code of the engine itself tells the Observer. It is no event. The turn that is stored has those that its code
// made; a replay makes none.
type Note struct {
	Name    string // of what it is about, such as an orchestration
	Outcome string
	Count   int64
}

// Note tells the Observer of something when the turn is stored. Equal notes of a turn are added up. Those beyond the limit are lost.
func (s *Scope) Note(n Note) {
	x := s.x
	x.sched.checkCaller()
	if x.events.replaying.Load() {
		return
	}
	for i := range x.notes {
		if of := &x.notes[i]; of.Name == n.Name && of.Outcome == n.Outcome {
			of.Count += n.Count
			return
		}
	}
	if len(x.notes) < maxNotes {
		x.notes = append(x.notes, n)
	}
}
