// Package bench holds benchmarks of whole workloads through the public API, on a fresh
// file per run, and the figures of cost that may not grow unseen. It has no API; the workloads are in
// bench/workload, and benchmarks of parts stand beside the parts.
//
//	go test -run '^$' -bench . -benchtime 1x -count 5 ./bench
package bench
