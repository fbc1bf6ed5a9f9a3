package postgres

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/provider"
)

// A failed statement tells no time, and does not drop the known one.
func TestClockOutlivesFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const said = provider.Time(1 << 50)
		var c clock
		c.heard(said)
		time.Sleep(2 * resample) //nolint:forbidigo // in a synctest bubble
		c.heard(0)
		if at := c.now(); at != said.Add(2*resample) {
			t.Errorf("it is %d, %d after the storage spoke", at, at-said)
		}
		time.Sleep(time.Hour) //nolint:forbidigo // in a synctest bubble
		if at := c.latest(); at != said {
			t.Errorf("the storage said %d last", at)
		}
	})
}
