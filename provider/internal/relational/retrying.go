package relational

import (
	"strconv"

	"github.com/perdure/perdure/provider"
)

const (
	// whileRetrying is the condition of the index of tasks that are tried again, word for word, so that planners see that the index serves it.
	whileRetrying = "(x.attempt > 1 OR x.deliveries > 1)"
	// retryingMost is how many tasks a count of retrying instances looks at.
	retryingMost = 5 * provider.MinRows
)

// retrying selects from the tasks, x, that are tried again. Their index is small and has their keys.
func (d *Dialect) retrying() string {
	return d.Table + "task x" + d.Retrying + " WHERE " + whileRetrying
}

// tasksRetrying counts tasks that are tried again, up to one more than most.
func (f *finder) tasksRetrying(most int) (int64, error) {
	return number(f.lookup, "SELECT count(*) FROM (SELECT 1 FROM "+f.dialect.retrying()+" LIMIT "+strconv.Itoa(most+1)+") p")
}

// instancesRetrying selects the instances of so many tasks that are tried again, each instance once.
func (f *finder) instancesRetrying(most int) string {
	return "SELECT " + columns + " FROM (SELECT DISTINCT p.key AS found FROM (SELECT x.key FROM " + f.dialect.retrying() +
		" LIMIT " + strconv.Itoa(most) + ") p) d " + f.dialect.ByKey
}

// countRetrying counts instances with tasks that are tried again. It looks at retryingMost tasks at most, so that it costs as little in an
// outage in which all tasks are tried again.
func (f *finder) countRetrying() (n int64, all bool, err error) {
	tasks, err := f.tasksRetrying(retryingMost)
	if err != nil {
		return 0, false, err
	}
	f.tried = true
	_, n, err = f.tally(f.instancesRetrying(retryingMost), nil)
	return n, tasks <= retryingMost, err
}
