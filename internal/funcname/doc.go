// Package funcname finds the name under which a Go function is stored.
//
// The name of an orchestration or activity is stored in histories and queues. It has to mean the same in every
// process and every later build. For a top-level function that is its bare name, Checkout, and for a method
// Type.Method, exactly as written. The package path is no part of it, so that code can move.
//
// A function whose name the compiler makes up, such as a closure, has no lasting name. It is refused and needs an
// explicit one. Two things cannot be seen in a function value. One is its receiver: the methods of two values of a
// type are one function here. The other is the type behind an interface: a method value of an interface has the name
// of the interface.
//
// The package keeps no names. Finding out that one is used twice is the registry's work.
package funcname
