package dashboard

import (
	"strings"
	"unicode"

	"github.com/perdure/perdure/client"
)

// pageLink is an entry of the navigation.
type pageLink struct{ Name, Path, Title string }

// Pages returns the navigation.
func (v *view) Pages() []pageLink {
	return []pageLink{
		{"overview", "/", "Overview"},
		{"incident", "/incident", "Incident"},
		{"instances", "/instances", "Instances"},
		{"schedules", "/schedules", "Schedules"},
		{"jobs", "/jobs", "Bulk jobs"},
		{"queues", "/queues", "Queues"},
		{"nodes", "/nodes", "Nodes"},
		{"letters", "/dead-letters", "Dead letters"},
		{"retention", "/retention", "Retention"},
		{"audit", "/audit", "Audit"},
	}
}

// Wait returns what an instance waits for, in words.
func (v *view) Wait(w client.Wait) string { return v.c.waitText(&w) }

// OnExecution reports whether the act needs the execution that was shown.
func (a *act) OnExecution() bool { return a.has("execution") }

// Name, Title and Danger are for templates.
func (a *act) Name() string  { return a.name }
func (a *act) Title() string { return a.title }
func (a *act) Danger() bool  { return a.danger }

func (a *act) has(name string) bool {
	for i := range a.fields {
		if a.fields[i].name == name {
			return true
		}
	}
	return false
}

// stepNames are kinds of events in words where their names do not say it.
//
//nolint:gochecknoglobals // constant table
var stepNames = map[string]string{
	"ActivityScheduled": "activity", "TimerCreated": "timer", "ChildStarted": "child", "UpdateReceived": "update", "LocalEnded": "local activity",
	"EventReceived": "event", "ExecutionStarted": "started", "ExecutionCompleted": "completed", "ExecutionFailed": "failed",
	"ExecutionCancelled": "cancelled", "ExecutionTerminated": "terminated", "ContinuedAsNew": "continued as new", "SideEffectRecorded": "side effect",
}

// stepText returns the kind of a step in words.
func stepText(s client.HistoryStep) string {
	if name, ok := stepNames[s.Kind]; ok && (s.End != nil || s.Pending() || !strings.HasPrefix(name, "activity")) {
		return name
	}
	var b strings.Builder
	for i, r := range s.Kind {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
