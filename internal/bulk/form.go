package bulk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/perdure/perdure/provider"
)

// The forms of jobs. A node runs a job only if it has the version of the orchestration and the step of its form. Releases that know only the
// first form drop what else a job says, and would act on every instance: so anything newer has the second form. A node that knows the second
// one refuses to make a step if the job says something that it does not know, and the job waits for a newer node.
const (
	First  = "1"
	Second = "2"
	// SecondStep is the activity of the second form, without its reserved prefix. A version of its own would not keep older nodes from the step,
	// because they fetch activities by name.
	SecondStep = "bulk.step/2"
)

// What the first form can say. These lists never change: they are those of releases that are out.
//
//nolint:gochecknoglobals // constant tables
var (
	firstFilter = []string{
		"IDPrefix", "Name", "CodeVersions", "Statuses", "Blocked", "ParentKey", "ParentKeys", "CreatedAfter", "CreatedBefore", "EndedAfter",
		"EndedBefore", "Attributes", "Matches", "Replaced",
	}
	firstArgs = []string{"Reason", "Event", "Payload", "Version", "Force", "Point", "Drop", "Prefix"}
	firstJob  = []string{"ID", "Act", "Args", "Filter", "Max", "Rate", "Principal"}
	firstActs = []string{
		"cancel", "delete", "fork", "move", "raise", "redrive", "reset", "restart", "resume", "suspend", "terminate", "unblock",
	}
)

// Form returns the oldest form that can say what the job says.
func (j *Job) Form() string {
	if !slices.Contains(firstActs, j.Act) || len(more(j, firstJob)) > 0 || len(more(&j.Args, firstArgs)) > 0 || len(more(&j.Filter, firstFilter)) > 0 {
		return Second
	}
	return First
}

// more returns the exported fields of a struct that are set and that a list does not have.
func more[T any](of *T, list []string) (names []string) {
	v := reflect.ValueOf(of).Elem()
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() && !v.Field(i).IsZero() && !slices.Contains(list, f.Name) {
			names = append(names, f.Name)
		}
	}
	return names
}

// Judges returns an error if Matches does not know a field of the filter. Nobody may act by such a filter.
func Judges(f *provider.Filter) error {
	if unknown := more(f, judged()); len(unknown) > 0 {
		return fmt.Errorf("the check before each act does not know the fields %q of the filter", unknown)
	}
	return nil
}

// judged are the fields that Matches knows. It does not know whether another instance has replaced one, so Replaced only widens a filter.
func judged() []string { return append(slices.Clone(firstFilter), "Retrying", "FailureGroup") }

// plainJob is a Job whose JSON has what this release knows.
type plainJob Job

// MarshalJSON returns the text that the job was read from, if any. So an orchestration hands a job on with what only newer releases know.
func (j Job) MarshalJSON() ([]byte, error) {
	if j.read != nil {
		return j.read, nil
	}
	return json.Marshal(plainJob(j)) //nolint:musttag,wrapcheck // it says all; a filter is stored by the names of its fields
}

// UnmarshalJSON reads what this release knows. See Unknown.
func (j *Job) UnmarshalJSON(text []byte) error {
	var plain plainJob
	if err := json.Unmarshal(text, &plain); err != nil { //nolint:musttag // a filter is stored by the names of its fields
		return fmt.Errorf("reading a bulk job: %w", err)
	}
	*j = Job(plain)
	j.read = bytes.Clone(text)
	return nil
}

// Unknown returns an error if the job that the request was read with says something that this release does not know.
func (r *StepRequest) Unknown() error {
	if r.Job.read == nil {
		return nil
	}
	var plain plainJob
	d := json.NewDecoder(bytes.NewReader(r.Job.read))
	d.DisallowUnknownFields()
	if err := d.Decode(&plain); err != nil { //nolint:musttag // a filter is stored by the names of its fields
		return fmt.Errorf("the job says what this release does not know: it waits for a node of a newer release: %w", err)
	}
	return nil
}
