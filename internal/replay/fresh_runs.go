package replay

// yieldToFreshRuns lets the runs go first that HandleEvent and HandleUpdate have begun for what waited. The main function
// calls it before it takes something or returns, so that it cannot pass those.
func (x *core) yieldToFreshRuns(co *coroutine) {
	if x.job.fresh > 0 && co.run == nil {
		x.sched.enqueue(co)
		co.park()
	}
}
