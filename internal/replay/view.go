package replay

// View is what an [Execution] says of itself. Its methods run no code and change nothing that a history depends on. Only the goroutine
// that may use the execution may use its View.
type View struct{ x *Execution }

// View returns what the execution says of itself, now and later.
func (x *Execution) View() View { return View{x} }
