// Package bench benchmarks whole workloads through the public API, on a fresh file per run. It also checks costs
// that must not grow unnoticed. It has no API. The workloads are in internal/testkit/workload, and benchmarks of parts are
// next to the parts.
//
//	go -C bench test -run '^$' -bench . -benchtime 1x -count 5 .
package bench
