// Package silences silences findings.
package silences

import (
	"time"

	"github.com/perdure/perdure/orchestration"
)

func silenced(ctx *orchestration.Context, _ int) (time.Time, error) {
	started := time.Now() //perdure:ok it is only compared with itself
	//perdure:ok the line below is measured, not stored
	started = started.Add(time.Since(started))
	return started, nil
}

func withoutReason(ctx *orchestration.Context, _ int) (time.Time, error) {
	return time.Now(), nil //perdure:ok // want `//perdure:ok has no reason: a reader cannot judge it; write the reason behind it \(ok\)`
}

func unused(ctx *orchestration.Context, _ int) (time.Time, error) {
	return ctx.Now(), nil //perdure:ok it was time.Now once // want `//perdure:ok silences nothing: its line has no finding; remove the comment \(ok\)`
}

//perdure:okay is another word, and no comment of perdurevet
func others(ctx *orchestration.Context, _ int) (time.Time, error) {
	return time.Now(), nil // want `uses time.Now`
}
