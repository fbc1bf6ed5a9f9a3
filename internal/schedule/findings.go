package schedule

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Sum returns a text that tells inputs apart.
func Sum(input []byte) string {
	sum := sha256.Sum256(input)
	return hex.EncodeToString(sum[:])
}

// Findings returns what keeps the schedule from doing its work, for people.
func (v *View) Findings() (found []string) {
	if v.Problem != "" {
		found = append(found, v.Problem)
	}
	if v.Ahead > 0 {
		found = append(found, fmt.Sprintf("the store's time is %v ahead of the clock of the node that looked last, so runs start too early: "+
			"set the clock of the store's machine right; a SQLite store comes back by itself, as its time runs slow until then", v.Ahead))
	}
	for _, r := range v.Running {
		if r.Blocked >= Blocks {
			found = append(found, fmt.Sprintf("run %q goes on since %s and has held up %d due times: look at it, or terminate it",
				r.ID, r.Started.UTC().Format("2006-01-02 15:04:05Z"), r.Blocked))
		}
	}
	return found
}
