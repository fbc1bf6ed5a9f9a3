// Package workload holds the workloads that perdure is measured with, W1 to W10. The command perdure-bench
// and the benchmarks of package bench run the same code.
//
// Activities do nothing and return about 50 bytes of JSON. The measured time runs from the first start to the last
// outcome seen. Work that is not measured, such as filling a store, is in Prepare.
//
// Some operations have an intended moment: the orchestrations of W3, the timers of W5, and W1 with a rate. Their
// latencies count from that moment, not from the time at which this process got to it. So a system that stalls
// cannot hide the delay by getting its load later.
package workload
