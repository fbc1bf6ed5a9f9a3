package goroutine

import (
	"runtime"
	"slices"
)

// place is where the runtime keeps the number of a goroutine, found by looking; 0: it was not found, and ID reads the stack.
var place = find(fields) //nolint:gochecknoglobals // the same for the life of the process

// binding is where it keeps the thread that a goroutine is bound to; 0: it was not found.
var binding = findBinding(fields) //nolint:gochecknoglobals // the same for the life of the process

// samples is how many goroutines have to agree on a place.
const samples = 4

// find returns the place where each of several goroutines has its number, among the first bytes of the runtime's
// record.
func find(within uintptr) uintptr {
	return agreed(within, func(places []uintptr) []uintptr {
		id := header()
		return slices.DeleteFunc(places, func(offset uintptr) bool { return word(offset) != id })
	})
}

// findBinding returns the place that is only set while the goroutine is bound. It then equals another place: the
// thread.
func findBinding(within uintptr) uintptr {
	return agreed(within, func(places []uintptr) []uintptr {
		empty := func(offset uintptr) bool { return word(offset) == 0 }
		places = slices.DeleteFunc(places, func(offset uintptr) bool { return !empty(offset) })
		runtime.LockOSThread()
		places = slices.DeleteFunc(places, func(offset uintptr) bool { return empty(offset) || !twice(word(offset), within) })
		runtime.UnlockOSThread()
		return slices.DeleteFunc(places, func(offset uintptr) bool { return !empty(offset) })
	})
}

// twice reports whether a word stands at several places.
func twice(value uint64, within uintptr) bool {
	n := 0
	for offset := uintptr(8); offset < within; offset += 8 {
		if word(offset) == value {
			n++
		}
	}
	return n > 1
}

// agreed returns the only place that look leaves on several goroutines, 0 if it is not the only one.
func agreed(within uintptr, look func(places []uintptr) []uintptr) uintptr {
	var places []uintptr
	for offset := uintptr(8); offset < within; offset += 8 {
		places = append(places, offset)
	}
	for range samples {
		done := make(chan struct{})
		go func() {
			defer close(done)
			places = look(places)
		}()
		<-done
	}
	if len(places) != 1 {
		return 0
	}
	return places[0]
}
