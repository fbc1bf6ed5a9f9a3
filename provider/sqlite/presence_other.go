//go:build !unix

package sqlite

// A presence knows nothing where there are no byte locks. Other processes are assumed to be alive, and their leases expire.
type presence struct{ process int64 }

func openPresence(string) (*presence, error) { return &presence{}, nil }

func watchPresence(string) *presence { return nil }

func (*presence) alone() bool { return false }

func (*presence) others() bool { return false }

func (*presence) gone(int64) bool { return false }

func (*presence) close() {}
