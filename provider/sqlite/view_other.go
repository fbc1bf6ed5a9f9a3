//go:build !unix

package sqlite

// deserted is never known where flock is missing.
func deserted(string) bool { return false }
