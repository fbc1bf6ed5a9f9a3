// Package cancellation tests how activities are told to stop. It has every test of the plan in the design that it
// follows, under its name.
//
// It also tests what perdure promises beyond that plan. Tasks that have not begun are removed. A call may wait for the
// end of its activity. Causes can be told apart. A node learns of a cancellation at once.
//
// Each test runs with the turns on the same node and on another node. It also runs with all notices lost, so that only
// the renewal of leases reports a cancellation.
//
// The package has tests only and no API.
package cancellation
