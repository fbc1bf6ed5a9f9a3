package postgres

import (
	"testing"

	"github.com/perdure/perdure/internal/testkit/settings"
)

func TestPageTellsTheDefaults(t *testing.T) {
	t.Parallel()
	settings.CheckDefaults(t, settings.Table(t, "options.md", "postgres.Options", "option"), "default", Options{}.withDefaults())
}
