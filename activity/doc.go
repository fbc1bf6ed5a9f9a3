// Package activity is for writing activities: the steps of an orchestration that touch the
// world. It identifies the call of an activity, reports its progress, and says why it
// should stop.
//
// An activity is an ordinary function func(context.Context, In) (Out, error). It may do
// anything - call services, read files - and may run more than once: an attempt that is
// lost in a crash is delivered again. Make its effects idempotent with [IdempotencyKey] or
// [GetInfo].
//
// The functions of this package take the context that the activity was given, or one
// derived from it. Several goroutines may call them at once.
package activity
