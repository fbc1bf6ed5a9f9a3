package postgres

import (
	"testing"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/settings"
)

func TestPageTellsTheDefaults(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	settings.CheckDefaults(t, settings.Table(t, "options.md", "postgres.Options", "option"), "default", Options{}.withDefaults())
}
