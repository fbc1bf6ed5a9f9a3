package dispatcher

// stackRoom is how much stack a commit takes in SQLite, which is translated from C.
const stackRoom = 20 << 10

// makeRoom lets the stack of a new goroutine grow to that at once, while there is little on it. Else it would grow step by step below the
// commit, and all that is on it would be moved each time. The frame of this function does it; the array is never used.
//
//go:noinline
func makeRoom(use int) byte { //nolint:unparam // without a result there would be no array
	if use < 0 {
		return 0
	}
	var room [stackRoom]byte
	return room[use]
}
