package replay

import "github.com/perdure/perdure/internal/history"

// Patched reports whether the code takes the new side of a patch. It is true if the marker of the patch stands before
// the present position or among the commands that directly follow the message being applied. It is false on all other
// replayed ground. On new ground it writes the marker and is true, or is false if a limit refuses the marker. The first
// answer holds for the rest of the execution.
func (s *Scope) Patched(id string) bool {
	s.x.sched.enter()
	p := s.x.events.patches.of(id)
	p.known = true
	if !p.answered {
		p.answer = s.x.events.marked(id, p) || s.mark(id, p)
		p.answered = true
	}
	return p.answer
}

// DeprecatePatch writes the marker of a patch on new ground, unless the execution has it or takes the old side.
func (s *Scope) DeprecatePatch(id string) {
	s.x.sched.enter()
	p := s.x.events.patches.of(id)
	p.known = true
	// A marker behind an answer that was false could turn that answer on replay.
	if !s.x.events.marked(id, p) && !p.answered {
		s.mark(id, p)
	}
}

// mark writes the marker of a patch and reports whether it did. On replay there is none to write. A marker counts as
// other commands do. Where a limit refuses it, replay finds none.
func (s *Scope) mark(id string, p *patch) bool {
	if s.x.events.replaying.Load() || s.admitEvent(len(id)) != nil {
		return false
	}
	p.event = s.x.events.emit(&history.PatchMarked{ID: id})
	return true
}
