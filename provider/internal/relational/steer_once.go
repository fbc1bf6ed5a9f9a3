package relational

import (
	"crypto/sha256"
	"slices"

	"github.com/perdure/perdure/provider"
)

// actSize is the size of a recorded request ID: the first bytes of its SHA-256.
const actSize = 16

// once acts, unless the instance has recorded the request ID.
func (s steering) once(act func() error) error {
	if s.req.RequestID == "" {
		return act()
	}
	acts, err := s.t.Rows.Acts(s.h.Key)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(s.req.RequestID))
	for at := 0; at+actSize <= len(acts); at += actSize {
		if string(acts[at:at+actSize]) == string(sum[:actSize]) {
			return nil
		}
	}
	if err := act(); err != nil {
		return err
	}
	if over := len(acts) - (provider.MaxActs-1)*actSize; over > 0 {
		acts = acts[over:]
	}
	return s.t.Rows.SetActs(s.h.Key, append(slices.Clip(acts), sum[:actSize]...))
}
