// Package access is how packages client and operate reach a store. A [Store] repeats calls until they are answered. A [Target]
// is the instance that a call names. A [Caller] performs an [Act] for the principal in whose name it is: it checks the right,
// writes the audit and does the act. Explain and Doubt say in errors what to do next.
//
// The package knows nothing of orchestrations and their histories.
package access
