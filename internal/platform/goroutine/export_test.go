package goroutine

// Header is the slow way to ID.
func Header() uint64 { return header() }

// Place is where the number was found; 0: nowhere.
func Place() uintptr { return place }

// Fields is where it was looked for.
const Fields = fields

// Find looks for it again.
func Find(within uintptr) uintptr { return find(within) }

// FindBinding looks for the thread that a goroutine is bound to again.
func FindBinding(within uintptr) uintptr { return findBinding(within) }
