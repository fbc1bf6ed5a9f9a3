package history

// PatchMarked says that the code took the new side of a patch from here on. An execution has at most one for each ID.
type PatchMarked struct {
	ID string
}

// Kind implements Body.
func (*PatchMarked) Kind() Kind { return KindPatchMarked }

func (e *PatchMarked) fields(c *codec) { c.text(2, &e.ID) }
