// Package weaknesses tests that perdure does not have the weaknesses found in a related engine of the same design.
// Examples are work lost to a failed renewal, parents that wait forever, and instances killed by a stray message.
//
// Each file is named after its weakness. Its test has a subtest for each claim, from the view of a user. An
// orchestration ends as its code says, and nothing is lost silently.
//
// The package has tests only and no API.
package weaknesses
