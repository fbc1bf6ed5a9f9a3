// Package weaknesses holds one test for each weakness that was found in a relative of
// perdure, an engine of the same design, and that perdure must not have: work lost to a
// failed renewal, parents that wait for ever, instances killed by a stray message. A file
// is named after its weakness. Its test has a subtest for each claim, told from the view
// of a user: an orchestration ends as its code says, and nothing is lost in silence.
//
// It is a package of tests and has no API.
package weaknesses
