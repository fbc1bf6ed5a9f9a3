package skeleton

import (
	"testing"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/validations"
)

func TestConformance(t *testing.T) {
	t.Skip("remove this line in your provider")
	validations.Run(t, func(t *testing.T) provider.Provider {
		p, err := Open()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		return p
	})
}
