// Package moving tests that stores move to others while their orders run. It has tests only.
package moving
