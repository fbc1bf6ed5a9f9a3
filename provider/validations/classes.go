package validations

import "slices"

// classCases checks classes of mistakes over every method to which a class applies. The table in classes_test.go shows which case
// covers which method.
func classCases() []testCase {
	return slices.Concat(refusedCases(), racedCases(), awaitedCases(), secondCases(), orderedCases(), deletedCases(), keptCases(), placeCases(),
		limitedCases(), detourCases())
}
