package model

// An action is one kind of step.
type action struct {
	weight int
	do     func(*driver)
}

// actions lists every action as often as its weight says. Lower indexes are drawn more often, so the list begins with one of
// each.
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
