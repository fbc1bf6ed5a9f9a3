// Package payload turns values into the bytes that cross between orchestration, activity, child and client, and back.
// It also checks, when a function is registered, whether its types survive the journey.
//
// The format is the JSON of encoding/json, with one addition. A value of an empty struct type is encoded as no bytes,
// and no bytes decode to the zero value of any type.
//
// Values lose whatever JSON does not carry. Unexported fields stay behind, a time.Time is equal but not identical,
// numbers in an any are float64, and invalid UTF-8 in a string is replaced. This holds in memory too: nothing is ever
// handed over as a Go value, so a cached execution and a replayed one see the same.
//
// The package knows no limits on size; its callers do.
package payload
