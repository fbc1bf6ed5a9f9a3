// Package activity is what activity code sees of the engine: who it is, how to report
// progress, and why it is asked to stop.
//
// An activity is an ordinary function func(context.Context, In) (Out, error). It may do
// anything - call services, read files - and may run more than once: an attempt that is
// lost in a crash is delivered again. Make its effects idempotent by using the
// identity that [GetInfo] answers.
//
// The functions of this package take the context that the activity was given, or one
// derived from it, and may be called from several goroutines at once.
package activity
