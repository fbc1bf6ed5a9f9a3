// Package payload turns values into the bytes that cross between orchestration,
// activity, child and client, and back. It also tells, when a function is registered,
// whether its types survive the journey.
//
// The format is JSON as encoding/json has it, with one addition: a value of an empty
// struct type is no bytes at all, and no bytes decode to the zero value of any type.
//
// Only what JSON carries arrives. Unexported fields stay behind, a time.Time is equal
// but not identical, numbers in an any are float64, and invalid UTF-8 in a string is
// replaced. This holds in memory too: nothing is ever handed over as a Go value, so a
// cached execution and a replayed one see the same.
//
// The package knows no limits on size; its callers do.
package payload
