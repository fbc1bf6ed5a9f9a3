// Package storagefaults proves that faults of storage cost time and nothing else. An engine runs on a store that is
// unreachable, full, read-only, torn or damaged.
//
// In each case the affected instance is Blocked, or its caller gets an error with the reason. All others continue, and
// nothing is half stored. The engine recovers by itself when the storage does. The package has tests only.
package storagefaults
