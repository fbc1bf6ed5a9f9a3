// Package access is how packages client and operate reach a store. A [Store] repeats calls until they are answered. A [Target]
// is the instance that a call names. A [Caller] performs an [Act] for the principal in whose name it is: it checks the right,
// writes the audit and does the act. Explain and Doubt say in errors what to do next.
//
// A client gives its Caller what only package client can do: StartSystem, Message, BulkActs and Filter. Operators have the steps of
// perdure's own orchestrations, see [OwnSteps]. The package knows no history.
package access
