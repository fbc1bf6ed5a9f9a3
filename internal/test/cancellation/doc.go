// Package cancellation holds the tests of how activities are told to stop: of every test in the plan of the design that this
// follows, under its name, and of what perdure promises beyond: that tasks which nobody has begun are removed, that a
// call may wait for its activity's own end, that causes can be told apart, and that a node hears at once. Each runs with the
// turns on the same node, on another one, and with all notices lost, so that the renewal of leases alone must tell.
//
// It is a package of tests and has no API.
package cancellation
