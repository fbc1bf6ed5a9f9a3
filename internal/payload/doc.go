// Package payload turns values into the bytes that cross between orchestration, activity, child and client, and back.
// It also checks, when a function is registered, whether its types survive the journey.
//
// The format is the JSON of encoding/json, with one addition. A value of an empty struct type is encoded as no bytes,
// and no bytes decode to the zero value of any type.
//
// Values lose whatever JSON does not carry. Unexported fields stay behind, a time.Time is equal but not identical, and
// numbers in an any are float64. This holds in memory too: nothing is ever handed over as a Go value, so a cached execution
// and a replayed one see the same.
//
// EncodeExact refuses a value whose text or numbers Decode would change, or which it could not read. Clients, activities, side
// effects, queries and what code shows of itself use it. What orchestration code passes to calls, to its outputs and to the next
// execution does not pass through it, since old histories were written without: there invalid UTF-8 is replaced.
//
// The package knows no limits on size; its callers do.
package payload
