package provider

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"time"
)

// MarkPace is the shortest time between two reads of a caller that follows a Mark.
const MarkPace = 100 * time.Millisecond

// Waits reports whether the request may block.
func (r GetRequest) Waits() bool { return r.Wait > 0 && (r.WaitEnded || r.WaitValue || r.Mark != "") }

// Marks reports whether the result needs a Mark.
func (r GetRequest) Marks() bool { return r.WithMark || r.Mark != "" }

// Ends reports whether a result ends the wait of the request. It is for providers, which pass what they have
// read.
func (r GetRequest) Ends(res *GetResult) bool {
	switch {
	case r.Mark != "":
		return res.Mark != r.Mark
	case res.Instance.Status.Ended() || r.WaitBlocked && res.Instance.Blocked != nil:
		return true
	default:
		return r.WaitValue && res.Value != nil && (r.OldValue == nil || !bytes.Equal(res.Value.Value, r.OldValue))
	}
}

// NextLapse returns the earliest end of a lease in the result, 0 if there is none. A task shows it without any
// commit.
func (res *GetResult) NextLapse() (at Time) {
	for i := range res.Tasks {
		if until := res.Tasks[i].LeaseUntil; until != 0 && (at == 0 || until < at) {
			at = until
		}
	}
	return at
}

// MarkOf returns the Mark of a result whose other fields are set. It is for providers. A later release may
// return another Mark for the same result, which its callers see as a change.
func MarkOf(res *GetResult) string {
	seen := *res
	seen.Mark, seen.Now = "", 0
	seen.Tasks = slices.Clone(seen.Tasks)
	for i := range seen.Tasks {
		seen.Tasks[i].LeaseUntil, seen.Tasks[i].SessionOwner = 0, "" // these follow the clock and other instances
	}
	text, err := json.Marshal(&seen) //nolint:musttag // only hashed
	if err != nil {
		panic(err) // the types are plain
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}
