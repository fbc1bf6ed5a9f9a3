package goroutine

import "slices"

// place is where the runtime keeps the number of a goroutine, found by looking; 0: it was not found, and ID reads the stack.
var place = find(fields) //nolint:gochecknoglobals // the same for the life of the process

// samples is how many goroutines have to agree on the place.
const samples = 4

// find looks for the place at which each of several goroutines has its number, among the first bytes of what the runtime keeps of it.
func find(within uintptr) uintptr {
	var places []uintptr
	for offset := uintptr(8); offset < within; offset += 8 {
		places = append(places, offset)
	}
	for range samples {
		done := make(chan struct{})
		go func() {
			defer close(done)
			id := header()
			places = slices.DeleteFunc(places, func(offset uintptr) bool { return word(offset) != id })
		}()
		<-done
	}
	if len(places) != 1 {
		return 0
	}
	return places[0]
}
