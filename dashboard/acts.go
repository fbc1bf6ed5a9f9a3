package dashboard

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/perdure/perdure/client"
)

// subject is what an act is about. It decides the paths of the act.
type subject struct {
	name   string  // in texts
	path   string  // below the prefix, and below that of the API
	params []field // of the query: names that no path can hold
	page   string  // where the browser goes after an act; "": the path
}

// subjects of acts.
//
//nolint:gochecknoglobals // constant table
var (
	ofStore      = subject{name: "store", path: "/instances", page: "/instances"}
	ofInstance   = subject{name: "instance", path: "/instances/{key}"}
	ofActivity   = subject{name: "activity", path: "/instances/{key}/activities/{event}", page: "/instances/{key}"}
	ofQueue      = subject{name: "queue", path: "/queues", params: []field{{name: "name", required: true, help: "Of the queue."}}}
	ofNode       = subject{name: "node", path: "/nodes", params: []field{{name: "owner", required: true, help: "Of the node."}}}
	ofRetention  = subject{name: "retention", path: "/retention"}
	ofJobs       = subject{name: "bulk job", path: "/jobs"}
	ofJob        = subject{name: "job", path: "/jobs", params: []field{{name: "id", required: true, help: "Of the job."}}}
	ofSchedules  = subject{name: "new schedule", path: "/schedules"}
	ofSchedule   = subject{name: "schedule", path: "/schedules", params: []field{{name: "id", required: true, help: "Of the schedule."}}}
	ofDeadLetter = subject{name: "dead letter", path: "/dead-letters/{id}", page: "/dead-letters"}
)

// An act changes something, or asks the code of an instance. The pages and the API offer the same acts with the same fields.
type act struct {
	of     *subject
	name   string // the last part of its paths
	right  client.Act
	title  string // such as "Terminate"
	says   string // what it does, for the page that asks for confirmation
	danger bool   // it cannot be undone
	fields []field
	when   func(*client.Description) bool // whether the page of an instance offers it; nil: always
	do     func(context.Context, *call, input) (outcome, error)

	filled  func(context.Context, *call) (input, error) // values that the form begins with; nil: those of its fields
	preview bool                                        // the page shows due times before the act
	finds   bool                                        // the field to finds an event, which the page shows with what it means before the act
	edits   bool                                        // the form can begin with the input of the instance
	chosen  bool                                        // the field keys names the instances that it is about
	counts  *countable                                  // what the page counts before the act, without which it does nothing; nil: nothing

	answers reflect.Type // what outcome.value is; nil: nothing
}

// outcome is what an act returns.
type outcome struct {
	value any    // of the API; nil: nothing
	page  string // where the browser goes; "": where the act leads
}

// acts returns all acts.
func acts() []act {
	return slices.Concat(instanceActs(), steerActs(), openingActs(), activityActs(), orderActs(), deadLetterActs(),
		deletionActs(), manyActs(), jobActs(), creationActs(), scheduleActs(), retentionActs())
}

// fits reports whether the act can do anything with an instance as it is shown. The store refuses nearly all acts on one that is being deleted
// or moves. One that is held still gets messages.
func (a *act) fits(d *client.Description) bool {
	switch {
	case d.Deleting:
		return a.name == "delete"
	case d.Sealed != nil:
		return a.name == "delete" || a.name == "raise" && d.Sealed.State == "held"
	}
	return a.when == nil || a.when(d)
}

// path returns the pattern of an act below the prefix.
func (a *act) path() string { return a.of.path + "/" + a.name }

// id names the act among all others.
func (a *act) id() string { return strings.ReplaceAll(a.of.name, " ", "-") + "-" + a.name }

// after returns the path of the page that an act leads back to.
func (a *act) after(c *call) string {
	page := a.of.page
	if page == "" {
		page = a.of.path
	}
	for _, name := range []string{"key", "event", "id"} {
		page = strings.ReplaceAll(page, "{"+name+"}", c.r.PathValue(name))
	}
	return page
}
