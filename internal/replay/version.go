package replay

import "github.com/perdure/perdure/internal/history"

// nextVersion returns the version of the execution that continues this one. An execution that was given nothing keeps its
// version, so that two changes never follow one another without a message in between.
func (x *Execution) nextVersion(keep bool) string {
	if keep || x.env.Newest == nil || x.info.Execution > 1 && !x.gotMessage {
		return x.info.Runs
	}
	return x.env.Newest(x.info.Name, x.info.Runs)
}

// noteNewer reports whether a live message notes that there is a newer version of the code. Those that open a later execution never do:
// code that continues as new at once when it learns of it would keep its version, and go round for ever.
func (x *Execution) noteNewer() bool {
	return x.env.Newest != nil && (x.info.Execution == 1 || x.opened) && !x.info.Newer && x.env.MayNote != nil &&
		x.env.Newest(x.info.Name, x.info.Runs) != x.info.Runs && x.env.MayNote()
}

// noteMessage notes what a message that is applied says besides its body.
func (x *Execution) noteMessage(e *history.Event) {
	x.info.Newer = x.info.Newer || e.Newer
	x.gotMessage = x.gotMessage || x.opened && e.Body.Kind() != history.KindExecutionOpened
}
