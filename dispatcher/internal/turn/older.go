package turn

import (
	"errors"
	"time"

	"github.com/perdure/perdure/internal/replay"
)

// olderCodeTime is how long after its last commit an instance with an unknown patch is left to nodes with newer code. A deploy takes that
// long.
const olderCodeTime = 10 * time.Minute

// olderCode reports whether the turn failed because this node has older code than the node that made the last commit: the code deviates
// from a history with a patch that it does not know. Nodes with that code are there during a deploy, so such a turn is not counted. Later
// the code that knew the patch is gone, and the instance shows as blocked.
func (f *fetched) olderCode(err error) bool {
	deviation, ok := errors.AsType[*replay.NonDeterminismError](err)
	return ok && deviation.Patch != "" && f.ts.Clock.Now().Sub(f.fetch.Instance.UpdatedAt) < olderCodeTime
}
