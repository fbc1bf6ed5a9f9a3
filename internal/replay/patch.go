package replay

import "github.com/perdure/perdure/internal/history"

// patches are what an execution knows of the patches of its code, by ID. Nil until the first one.
type patches map[string]*patch

// patch is what an execution knows of one patch.
type patch struct {
	event    int64 // its marker, if that was found, written or passed; 0: none
	asked    bool  // the code knows the patch
	answered bool  // by Patched, for the rest of the execution
	answer   bool
}

// of returns what is known of a patch.
func (ps *patches) of(id string) *patch {
	if p := (*ps)[id]; p != nil {
		return p
	}
	if *ps == nil {
		*ps = make(patches)
	}
	p := &patch{}
	(*ps)[id] = p
	return p
}

// unknown returns the last patch that history has marked so far and the code has not asked for, "" if there is none.
func (ps *patches) unknown() (id string) {
	last := int64(0)
	for name, p := range *ps {
		if p.event > last && !p.asked {
			id, last = name, p.event
		}
	}
	return id
}

// Patched reports whether the code takes the new side of a patch. It is true if the marker of the patch stands before
// the present position or among the commands that directly follow the message being applied. It is false on all other
// replayed ground. On new ground it writes the marker and is true, or is false if a limit refuses the marker. The first
// answer holds for the rest of the execution.
func (s *Scope) Patched(id string) bool {
	s.x.sched.enter()
	p := s.x.events.patches.of(id)
	p.asked = true
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
	p.asked = true
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

// marked reports whether the marker of a patch was passed or written, or is among the commands that directly follow the
// message being applied. There it counts from now on, as it did when it was written: code may see a limit between the
// call and the command before which the marker is skipped.
func (r *recorder) marked(id string, p *patch) bool {
	if p.event != 0 {
		return true
	}
	if r.position >= len(r.script) {
		return false // on new ground
	}
	for _, e := range r.script[r.position:] {
		if e.Body.Kind().IsMessage() {
			break
		}
		if m, ok := e.Body.(*history.PatchMarked); ok && m.ID == id {
			r.count(e, p)
			return true
		}
	}
	return false
}

// skipAll passes the markers at the present position.
func (r *recorder) skipAll() {
	for r.position < len(r.script) && r.skip(r.script[r.position]) {
		continue
	}
}

// skip passes a stored event if it is the marker of a patch, and reports whether it did. It is never compared: code
// that no longer asks for the patch replays.
func (r *recorder) skip(e history.Event) bool {
	m, ok := e.Body.(*history.PatchMarked)
	if !ok {
		return false
	}
	if p := r.patches.of(m.ID); p.event != e.ID {
		r.count(e, p)
	}
	r.position++
	return true
}

// count counts a stored marker towards the limits.
func (r *recorder) count(e history.Event, p *patch) {
	p.event = e.ID
	r.effects.Add(1)
	r.burst.add(e.Body)
	r.size += history.Size(e.Body)
	r.length++
}
