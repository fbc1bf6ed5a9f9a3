// Package operate is for those who operate what runs: it lists the nodes of a store and the queues, versions and patches of their
// code, pauses queues, drains nodes, copies the store, moves instances to another store, and reads the audit. An [Operator] works on
// the store of a client:
//
//	c, err := client.New(store, client.Options{})
//	...
//	nodes, err := operate.New(c).Nodes(ctx)
//
// What a service does with single instances is in package client. Errors are those of package client, and those of [Operator.Import].
package operate
