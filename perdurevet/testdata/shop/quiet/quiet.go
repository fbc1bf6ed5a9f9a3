// Package quiet has nothing to do with orchestrations.
package quiet

import "time"

// Stamp uses the clock, which is no finding here.
func Stamp() time.Time {
	//perdure:ok nobody calls it // want `//perdure:ok silences nothing: its line has no finding; remove the comment \(ok\)`
	return time.Time{}
}
