package heartbeat

import (
	"time"

	"github.com/perdure/perdure/orchestration"
)

// Watched ends an attempt that has imported no row for 200 ms, and retries it.
func Watched(ctx *orchestration.Context, rows int) (int, error) {
	var importer *Importer
	return orchestration.CallActivity(ctx, importer.Import, rows,
		orchestration.WithHeartbeatTimeout(200*time.Millisecond),
		orchestration.WithRetry(orchestration.RetryPolicy{InitialInterval: time.Millisecond}))
}
