package validations

import (
	"reflect"

	"github.com/perdure/perdure/provider"
)

// lacking returns the name of the optional interface T if the provider does not have it.
func lacking[T any](p provider.Provider) string {
	if _, ok := provider.As[T](p); ok {
		return ""
	}
	return reflect.TypeFor[T]().String()
}

// lackingFirstTurns returns the name of the feature if the provider does not declare it, as do the next three.
func lackingFirstTurns(p provider.Provider) string {
	return undeclared(provider.FeaturesOf(p).FirstTurns, "FirstTurns")
}

func lackingAhead(p provider.Provider) string {
	return undeclared(provider.FeaturesOf(p).Ahead, "Ahead")
}

func lackingSticky(p provider.Provider) string {
	return undeclared(provider.FeaturesOf(p).Sticky, "Sticky")
}

func lackingRetrying(p provider.Provider) string {
	return undeclared(provider.FeaturesOf(p).Retrying, "Retrying")
}

func undeclared(declared bool, name string) string {
	if declared {
		return ""
	}
	return "provider.Features." + name
}

// needs marks cases that need something more than the core.
func needs(lacks func(provider.Provider) string, list []testCase) []testCase {
	for i := range list {
		own := list[i].lacks
		list[i].lacks = func(p provider.Provider) string {
			if name := lacks(p); name != "" || own == nil {
				return name
			}
			return own(p)
		}
	}
	return list
}
