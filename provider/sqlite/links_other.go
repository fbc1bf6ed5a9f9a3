//go:build !unix

package sqlite

// Links returns how many names (hard links) a file has, and 0 if that is not known, as on this system.
func Links(string) int { return 0 }
