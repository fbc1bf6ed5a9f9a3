package main

// sizes returns the size of a workload for each system. A run takes 5 to 20 s on a machine with two cores. Rates are
// compared, not durations. If a larger size makes each unit more expensive (a longer history, a fuller table), the
// smaller size favours its system.
func sizes(workload string) map[string]int {
	switch workload {
	case "W1": // orchestrations
		return map[string]int{"perdure": 20_000, "go-workflows": 600, "durabletask-go": 800, "dbos": 3_000}
	case "W2a": // times
		return map[string]int{"perdure": 50, "go-workflows": 2, "durabletask-go": 8, "dbos": 8}
	case "W2b": // times
		return map[string]int{"perdure": 20, "go-workflows": 1, "durabletask-go": 3, "dbos": 2}
	case "W3", "W3 asked": // times
		return map[string]int{"perdure": 200, "go-workflows": 200, "durabletask-go": 200, "dbos": 200}
	case "W4": // activities
		return map[string]int{"perdure": 10_000, "go-workflows": 1_000, "durabletask-go": 200, "dbos": 10_000}
	case "W5", "W5 paced": // timers
		return map[string]int{"perdure": 2_000, "go-workflows": 2_000, "durabletask-go": 2_000, "dbos": 2_000}
	case "W6": // times
		return map[string]int{"perdure": 10, "go-workflows": 4, "durabletask-go": 10, "dbos": 1}
	}
	return nil
}
