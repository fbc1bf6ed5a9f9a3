// Package schedule runs schedules. A schedule is an instance of the orchestration perdure.schedule, which waits for its next due time and
// starts a run in the commit of its own turn. So each due time is started once, whatever crashes.
//
// The orchestration works in rounds. A round begins with a check: a local activity that computes due times and reads the states of
// the runs. All that depends on a node, such as its time zones and its clock, is in the result of the check, which the history
// records. Updates and rounds never overlap.
//
// A run tells the schedule of its end. A schedule never relies on that: each round reads the states of the runs that the schedule
// believes running.
package schedule
