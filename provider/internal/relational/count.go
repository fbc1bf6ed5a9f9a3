package relational

import (
	"time"

	"github.com/perdure/perdure/provider"
)

const (
	// countRows is how many rows a count with a maximum scans, or twice the maximum if that is more. So it is exact up to the maximum unless
	// more than half of the rows that it scans do not match. It depends on the rows alone and not on how long they take, so that it does
	// not jump from call to call.
	countRows = 20 * provider.MinRows
	// countMost bounds the rows if conditions have to be checked on each of them, however large the maximum is.
	countMost = 200 * provider.MinRows
	// countAll keeps twice a maximum from overflowing.
	countAll = 1 << 40
	// retryingMost is how many tasks a count of retrying instances looks at.
	retryingMost = 5 * provider.MinRows
	// slowScan is how long the first MinRows rows take where rows come from a disk so slowly that a count scans no more.
	slowScan = 250 * time.Millisecond
)

// Count counts the matches of a filter.
func (d *Dialect) Count(q Lookup, req *provider.CountRequest) (res provider.CountResult, err error) {
	filter, none := ofGroup(&req.Filter)
	if none {
		return provider.CountResult{Exact: true}, nil
	}
	if req.Filter.Retrying {
		f := &finder{dialect: d, lookup: q, filter: filter}
		n, all, err := f.countRetrying()
		if req.Max > 0 && n > req.Max {
			n, all = req.Max, false
		}
		return provider.CountResult{Count: n, Exact: all && err == nil}, err
	}
	if req.Max == 0 {
		from, args := d.Table+"instance i", []any(nil)
		if group := filter.FailureGroup; group != "" { // its index has all of them
			rest := *filter
			filter, rest.FailureGroup = &rest, ""
			from = "(SELECT x.key AS found, x.failed_at AS failed_at FROM " + d.Table + "outcome x WHERE x.failure_group = " + d.Mark(1) + ") d " +
				d.ByKey + onlyFailed
			args = []any{group}
		}
		c := d.Where(filter, args...)
		res.Count, err = number(q, "SELECT count(*) FROM "+from+c.SQL(), c.Args...)
		res.Exact = err == nil
		return res, err
	}
	f := &finder{dialect: d, lookup: q, filter: filter, most: countRows, began: time.Now()}
	f.more = int(max(countRows, min(req.Max, countMost/2)*2))
	if err := f.choose(); err != nil || f.none {
		return provider.CountResult{Exact: err == nil}, err
	}
	n, all, err := f.count(req.Max)
	return provider.CountResult{Count: min(n, req.Max), Exact: err == nil && all && n <= req.Max}, err
}

// count returns how many of the chosen rows match, and whether it has scanned all of them. It may stop once more than most match.
func (f *finder) count(most int64) (n int64, all bool, err error) {
	if f.set {
		_, n, err := f.tally(f.sql, f.args)
		return n, true, err
	}
	rows := int64(f.more)
	if f.simple() {
		rows = max(rows, 2*min(most, countAll))
	}
	const first = provider.MinRows
	began := time.Now()
	if n, all, err = f.walked(first); err != nil || all || n > most || time.Since(began) > slowScan {
		return n, all, err
	}
	if n, all, err = f.walked(countRows); err != nil || all || n > most {
		return n, all, err
	}
	if f.large != "" { // of its rows one condition is known to hold
		scanned, some, err := f.tally(f.large, f.inLarge)
		if n, all = max(n, some), scanned <= int64(f.more); err != nil || all || n > most {
			return n, all, err
		}
	}
	if rows > countRows {
		var some int64
		some, all, err = f.walked(rows)
		n = max(n, some)
	}
	return n, all, err
}

// walked counts the matches among so many rows in the order of lists, and reports whether there are no more rows.
func (f *finder) walked(rows int64) (n int64, all bool, err error) {
	f.walk(int(rows + 1))
	scanned, n, err := f.tally(f.sql, f.args)
	return n, scanned <= rows, err
}

// tally counts rows, and those of them that match.
func (f *finder) tally(rows string, args []any) (scanned, matched int64, err error) {
	c := f.where(args)
	matches := ""
	if c.SQL() != "" {
		matches = " FILTER (" + c.SQL() + ")"
	}
	return f.lookup.Tally("WITH r AS ("+rows+") SELECT count(*), count(*)"+matches+" FROM r i", c.Args...)
}

// simple reports whether the ranges have only rows that match, besides those whose ID now names another instance.
func (f *finder) simple() bool {
	rest := f.rest()
	return rest.Name == "" && len(rest.CodeVersions) == 0 && len(rest.Statuses) == 0 && rest.IDPrefix == "" && rest.ParentKey.IsZero() &&
		len(rest.ParentKeys) == 0 && rest.EndedAfter == 0 && rest.EndedBefore == 0 && len(matches(rest)) == 0 &&
		!rest.Retrying && rest.FailureGroup == ""
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
