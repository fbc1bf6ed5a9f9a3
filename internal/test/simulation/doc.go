// Package simulation runs nodes, clients and operators in one bubble of testing/synctest, and lets a seed decide what happens next.
//
// Each call of a node or client stops at a gate before it reaches the memory store. When nothing in the bubble can go on, the seed
// chooses the call that goes on, a fault, or that time passes. So a run is a list of decisions, and the same decisions make the same
// run. Attempts of activities stop at the gate, too: their order is the seed's.
//
// The faults are: a call that is late, before or after its effect; one that fails with an unknown outcome, with or without its
// effect; a notice or wake-up that is lost; a node that dies, stands still or is replaced; and a clock of the store that is not that of the
// nodes. A dead node is fenced first. Each of its calls in flight is stored or not, as the seed says, and nothing comes after.
//
// Clients note the outcome of each call, and a model says which outcomes are allowed. Package invariant checks the store when all has
// ended, and in between. All that can end must end within a bound of virtual time after the last fault.
//
// Each seed is run twice. A seed whose traces differ is counted and not believed. A failure is shrunk to a script with few decisions;
// testdata keeps those of bugs that were found. `make simulate` runs fresh seeds for as long as wanted.
//
// The package has tests only and no API.
package simulation
