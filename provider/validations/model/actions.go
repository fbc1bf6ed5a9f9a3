package model

// An action is one thing that a step may do.
type action struct {
	weight int
	do     func(*driver)
}

// actions lists them, each as often as its weight says. Lower places are drawn more often, so
// the first of each come first.
func actions() (list []action) {
	kinds := []action{
		{4, doCreate},
		{9, doCommit},
		{6, doFetchTurns},
		{5, doReport},
		{5, doFetchTasks},
		{4, doSteer},
		{3, doReleaseTurns},
		{3, doRenew},
		{3, doLetters},
		{2, doSend},
		{2, doDelete},
		{1, doPrune},
		{1, doAsk},
		{1, doList},
		{1, doRecord},
		{1, doLease},
		{1, doGet},
		{1, doReadHistory},
		{1, doStats},
	}
	for round := range 9 {
		for _, a := range kinds {
			if round < a.weight {
				list = append(list, a)
			}
		}
	}
	return list
}
