// Package linearizability proves that calls of many clients take effect one after the other. It has tests only, in a module of its own,
// because no user of perdure needs the checker.
//
// Clients start, reach, read and end a few instances at the same time, while the processes of the nodes are killed and started again. Each
// call is recorded with its begin, its end and what it returned. The checker porcupine looks for an order of the calls of an ID that
// keeps their real-time order and agrees with a model. The model has the promises of package client; time plays no part in it.
package linearizability
