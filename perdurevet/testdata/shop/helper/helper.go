// Package helper has functions that orchestration code of another package calls.
package helper

import (
	"os"
	"sync"
	"time"
)

// Last is a package variable.
var Last string

var (
	mutex sync.Mutex
	once  sync.Once
	known map[string]string
)

// Stamp uses the clock.
func Stamp() time.Time { return time.Now() } // want Stamp:"uses time.Now"

// Through reaches the environment through a function that is not exported.
func Through() string { return region() } // want Through:"uses os.Getenv"

func region() string { return os.Getenv("REGION") }

// Clock has a method.
type Clock struct{}

// Read uses the clock.
func (Clock) Read() time.Time { return func() time.Time { return time.Now() }() } // want Read:"uses time.Now"

// Generic is a generic function.
func Generic[T any](T) time.Time { return time.Now() } // want Generic:"uses time.Now"

// Later makes a function and does not run it.
func Later() func() time.Time {
	return func() time.Time { return time.Now() }
}

// Lookup holds a lock for a moment.
func Lookup(key string) string {
	once.Do(func() { known = map[string]string{} })
	mutex.Lock()
	defer mutex.Unlock()
	return known[key]
}

// Recursive calls itself.
func Recursive(n int) int {
	if n == 0 {
		return 0
	}
	return other(n - 1)
}

func other(n int) int { return Recursive(n) }

// Silent is known to do no harm.
func Silent() string {
	return os.Getenv("BUILD") //perdure:ok it is the same in every process of a release
}
