package client_test

import (
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/settings"
	"github.com/perdure/perdure/provider/memory"
)

func TestPageTellsTheDefaults(t *testing.T) {
	t.Parallel()
	c := clienttest.New(t, memory.New(memory.Options{}), client.Options{})
	settings.CheckDefaults(t, settings.Table(t, "options.md", "client.Options", "option"), "default", c.Filled())
}
