package serverless

import (
	"slices"
	"strings"
)

// Refusals returns the tables of what is outside of the subset.
func Refusals() []map[string]string {
	return []map[string]string{
		refusedOfDocument, refusedOfUse, refusedOfData, refusedTasks, refusedCalls, refusedRuns, refusedOfListen, refusedOfTo, refusedOfFilter,
		refusedVariables, refusedFunctions,
	}
}

// AllowedFunctions returns the names of the functions that expressions may call.
func AllowedFunctions() []string {
	var names []string
	for of := range allowed {
		name, _, _ := strings.Cut(of, "/")
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
