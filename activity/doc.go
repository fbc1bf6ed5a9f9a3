// Package activity is for activity code: its identity, reports of
// progress, and why it should stop.
//
// An activity is an ordinary function func(context.Context, In) (Out, error). It may do
// anything - call services, read files - and may run more than once: an attempt that is
// lost in a crash is delivered again. Make its effects idempotent: use the
// [IdempotencyKey].
//
// The functions of this package take the context of the activity, or one
// derived from it. Several goroutines may call them at once.
package activity
