package heartbeat

import (
	"time"

	"github.com/perdure/perdure/orchestration"
)

// Watched ends an attempt that has imported no row for three seconds, and retries it.
func Watched(ctx *orchestration.Context, rows int) (int, error) {
	var importer *Importer
	return orchestration.CallActivity(ctx, importer.Import, rows,
		orchestration.WithHeartbeatTimeout(3*time.Second),
		orchestration.WithRetry(orchestration.RetryPolicy{InitialInterval: time.Millisecond}))
}
