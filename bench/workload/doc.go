// Package workload holds the workloads that perdure is measured with, W1 to W10. The command perdure bench
// and the benchmarks of package bench run the same code.
//
// Activities do nothing and answer about 50 bytes of JSON. Time runs from the first start to the last
// outcome seen. What belongs to a workload and is not measured, such as filling a store, is its Prepare.
//
// Latencies of what happens at a given moment - the orchestrations of W3, the timers of W5, and W1 with a rate -
// count from that moment, not from when this process got to it: a system that stalls cannot hide it by being asked later.
package workload
