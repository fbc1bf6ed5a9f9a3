package replay

// patches are what an execution knows of the patches of its code, by ID. Nil until the first one.
type patches map[string]*patch

// patch is what an execution knows of one patch.
type patch struct {
	event    int64 // its marker, if that was found, written or passed; 0: none
	known    bool  // the code knows the patch
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
		if p.event > last && !p.known {
			id, last = name, p.event
		}
	}
	return id
}
