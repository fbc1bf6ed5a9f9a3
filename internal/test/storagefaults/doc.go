// Package storagefaults proves that faults of storage cost time and nothing else: an engine
// runs on a store that is away, full, read-only, torn or damaged. Each time the instance
// concerned is Blocked or its caller refused with an error that says why, all others go on,
// nothing is half stored, and the engine recovers by itself when the storage does. It holds
// tests only.
package storagefaults
