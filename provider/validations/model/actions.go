package model

import "github.com/perdure/perdure/provider"

// An action is one kind of step.
type action struct {
	weight int
	do     func(*driver)
	needs  func(*side) bool // an optional interface of the subject; nil: none
}

// actions lists every action that the subject can do as often as its weight says. Lower indexes are drawn more often, so the
// list begins with one of each.
func actions(subject *side) (list []action) {
	kinds := []action{
		{4, doCreate, nil},
		{9, doCommit, nil},
		{6, doFetchTurns, nil},
		{5, doReport, nil},
		{5, doFetchTasks, nil},
		{4, doSteer, nil},
		{3, doReleaseTurns, nil},
		{3, doRenew, nil},
		{2, doSteerTask, has[provider.TaskSteerer]},
		{2, doReset, has[provider.Opener]},
		{1, doFork, has[provider.Opener]},
		{3, doLetters, has[provider.Redriver]},
		{2, doSend, nil},
		{2, doDelete, has[provider.Cleaner]},
		{1, doPrune, has[provider.Cleaner]},
		{1, doAsk, has[provider.Asker]},
		{1, doList, has[provider.Lister]},
		{1, doRecord, has[provider.Keeper]},
		{1, doLease, has[provider.Keeper]},
		{1, doGet, nil},
		{1, doReadHistory, nil},
		{1, doStats, has[provider.Meter]},
		{1, doListTasks, has[provider.TaskLister]},
	}
	for round := range 9 {
		for _, a := range kinds {
			if round < a.weight && (a.needs == nil || a.needs(subject)) {
				list = append(list, a)
			}
		}
	}
	return list
}
