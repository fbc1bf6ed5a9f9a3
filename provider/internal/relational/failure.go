package relational

import "github.com/perdure/perdure/provider"

// Failure is what a turn that fails says of its error, for lists.
type Failure struct {
	Excerpt []byte
	Group   string
	At      provider.Time // the end of the instance to which it belongs
}

// failureOf returns nil if nothing is said.
func failureOf(excerpt []byte, group string, at provider.Time) *Failure {
	if len(excerpt) == 0 && group == "" {
		return nil
	}
	return &Failure{excerpt, group, at}
}

// Describe writes a failure to the row of its instance. Nil has nothing to write.
func (f *Failure) Describe(in *provider.Instance) {
	if f != nil && in.Status == provider.StatusFailed && in.EndedAt == f.At {
		in.Excerpt, in.FailureGroup = append([]byte(nil), f.Excerpt...), f.Group
	}
}
