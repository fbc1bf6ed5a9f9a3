// Package operate is for those who operate what runs. It lists the nodes of a store and the queues, versions and patches of their
// code, pauses queues and drains nodes. It acts on many instances at once, puts dead letters back, and removes what is old. It copies
// the store, moves instances to another one, and reads the audit. An [Operator] works on the store of a client:
//
//	c, err := client.New(store, client.Options{})
//	...
//	nodes, err := operate.New(c).Nodes(ctx)
//
// What a service does with single instances is in package client. Errors are those of package client, and those of [Operator.Import].
package operate
