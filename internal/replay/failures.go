package replay

import (
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/history"
)

// maxFailures is of how many failed activities an execution remembers the names, and failureText how many bytes of each text.
const (
	maxFailures = 8
	failureText = 256
)

// failures are the activities that failed last, the newest last. A failure does not name its activity, and code may return it much later, such
// as after it has undone what was done before.
type failures struct{ last []failedActivity }

type failedActivity struct{ name, kind, code, text string }

func failed(name string, f *history.Failure) failedActivity {
	return failedActivity{name: name, kind: f.Type, code: f.Code, text: f.Message[:min(len(f.Message), failureText)]}
}

// noteFailure remembers that an activity has failed; nil: it has not.
func (x *core) noteFailure(name string, f *history.Failure) {
	if f == nil {
		return
	}
	if x.failures == nil {
		x.failures = new(failures)
	}
	l := x.failures
	if len(l.last) == maxFailures {
		l.last = slices.Delete(l.last, 0, 1)
	}
	one := failed(name, f)
	one.kind, one.code, one.text = strings.Clone(one.kind), strings.Clone(one.code), strings.Clone(one.text) // the whole text may be long
	l.last = append(l.last, one)
}

func (l *failures) size() (n int) {
	if l == nil {
		return 0
	}
	for i := range l.last {
		n += namedBytes + len(l.last[i].name) + len(l.last[i].kind) + len(l.last[i].text)
	}
	return n
}

// of returns the activity whose failure is f, is among its causes, or is in its text; "": none is known.
func (l *failures) of(f *history.Failure) string {
	if l == nil {
		return ""
	}
	for _, one := range slices.Backward(l.last) {
		if one.in(f) {
			return one.name
		}
	}
	for _, one := range slices.Backward(l.last) {
		if one.text != "" && strings.Contains(f.Message, one.text) {
			return one.name
		}
	}
	return ""
}

func (a *failedActivity) in(f *history.Failure) bool {
	if failed(a.name, f) == *a {
		return true
	}
	return slices.ContainsFunc(f.Causes, func(cause history.Failure) bool { return a.in(&cause) })
}

// FailedActivity returns the name of the activity whose failure the execution has ended with; "": it is not known, or there is none.
func (v View) FailedActivity() string {
	if v.x.end == nil || v.x.end.Failure == nil {
		return ""
	}
	return v.x.failures.of(v.x.end.Failure)
}
