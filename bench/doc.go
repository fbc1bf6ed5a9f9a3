// Package bench holds benchmarks of whole workloads through the public API, on a fresh
// store per run. It has no API; benchmarks of parts stand beside the parts.
//
//	go test -run '^$' -bench . -benchtime 1x -count 5 ./bench
package bench
