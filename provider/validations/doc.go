// Package validations is the conformance suite of the provider contract.
//
// The author of a provider calls it from one test:
//
//	func TestConformance(t *testing.T) {
//		validations.Run(t, func(t *testing.T) provider.Provider {
//			p, err := mine.Open(t.TempDir())
//			if err != nil {
//				t.Fatal(err)
//			}
//			t.Cleanup(func() { _ = p.Close() })
//			return p
//		})
//	}
//
// After it passes, [github.com/perdure/perdure/provider/validations/engine] runs whole orchestrations on the provider, and
// [Bench] measures it.
//
// Each case checks one sentence of the contract against a new provider. A failure quotes the sentence. Cases run in parallel
// and never sleep: to let time pass they hold short leases and block in the provider.
package validations
