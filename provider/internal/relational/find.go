package relational

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure/provider"
)

const (
	// scanRows is how many rows a list scans. It scans MinRows first and then MinRows more at a time. It scans no more if that would
	// take longer than scanTime, because rows that come from a disk take long.
	scanRows = 5 * provider.MinRows
	scanTime = 30 * time.Millisecond
	// fewRows is a number of rows for which no better condition is searched.
	fewRows = 1_000
	// clockStep is by how much the end of an instance may be before its creation.
	clockStep = time.Second
	// manyKinds is how many pairs of a kind and a status are merged.
	manyKinds = 100
	// statusBits are the low bits of a number that has the ID of a kind and a status.
	statusBits = 16
)

// A Lookup runs statements in one snapshot of a store.
type Lookup interface {
	Numbers(sql string, args ...any) ([]int64, error)
	Places(sql string, args ...any) ([]Position, error) // rows of created_at and key
	// Tally returns the two numbers of one row.
	Tally(sql string, args ...any) (scanned, matched int64, err error)
}

// Position is where an instance stands in the order of lists.
type Position struct {
	At  provider.Time
	Key provider.UUID
}

// A finder finds the rows of a filter by the condition that chooses the fewest.
//
// A set is a condition whose index is in another order than lists. Its rows are sorted if they are at most scanRows. Otherwise, rows are
// read in the order of lists, by an index on creation, and checked one by one. That ends after scanRows rows.
type finder struct {
	dialect *Dialect
	lookup  Lookup
	filter  *provider.Filter
	after   *Position // of the cursor, later the last row that was scanned; nil: none
	most    int       // how many rows of a set it scans
	more    int       // for counts: how many rows of a larger set
	ranges  []string  // conditions for each of which an index has the rows in the order of lists, "" for all rows
	exact   bool      // the ranges have only rows of the filter's names, versions and statuses
	began   time.Time
	args    []any
	sql     string // selects the rows to scan, as i
	set     bool   // these are all rows that can match
	tried   bool   // the rows to scan are those of instances with a task that is tried again
	grouped bool   // these are rows of the filter's group
	large   string // selects more rows by one, of a set that has more than most; "": there is none
	inLarge []any  // its arguments
	none    bool   // no row matches
}

// Find returns the places of a page, in order, and the cursor of the next one.
func (d *Dialect) Find(q Lookup, req *provider.ListRequest) (places []Position, cursor string, err error) {
	filter, none := ofGroup(&req.Filter)
	if none {
		return nil, "", nil
	}
	f := &finder{dialect: d, lookup: q, filter: filter, most: scanRows, began: time.Now()}
	if req.Cursor != "" {
		at, key, err := ReadCursor(req.Cursor)
		if err != nil {
			return nil, "", err
		}
		f.after = &Position{at, key}
	}
	if err := f.choose(); err != nil || f.none {
		return nil, "", err
	}
	more, err := f.scan(func(rows string, args []any) (last *Position, err error) {
		c := f.where(args)
		found, err := q.Places("SELECT i.created_at, i.key FROM ("+rows+") i"+c.SQL()+d.Order+" LIMIT "+strconv.Itoa(req.Max+1-len(places)), c.Args...)
		if places = append(places, found...); err != nil || len(places) > req.Max || f.set {
			return nil, err
		}
		found, err = q.Places("SELECT i.created_at, i.key FROM ("+rows+") i"+f.onlyLast(), args...)
		if len(found) > 0 {
			last = &found[0]
		}
		return last, err
	})
	switch {
	case err != nil:
	case len(places) > req.Max:
		places = places[:req.Max]
		cursor = places[req.Max-1].cursor()
	case more:
		cursor = f.after.cursor()
	}
	return places, cursor, err
}

func (p Position) cursor() string { return WriteCursor(p.At, p.Key) }

// scan calls fn with a statement that selects rows, and its arguments. It calls again with the next rows, after the last one that
// fn returns, nil if there are no more or enough is found. The result more reports whether there may be others, after f.after.
func (f *finder) scan(fn func(rows string, args []any) (last *Position, err error)) (more bool, err error) {
	if f.set {
		_, err := fn(f.sql, f.args)
		return false, err
	}
	for rounds := 1; ; rounds++ {
		f.walk(provider.MinRows)
		last, err := fn(f.sql, f.args)
		if err != nil || last == nil {
			return false, err
		}
		f.after = last
		if next := time.Since(f.began) / time.Duration(rounds); rounds == scanRows/provider.MinRows || time.Since(f.began)+next > scanTime {
			return true, nil
		}
	}
}

// onlyLast ends a statement around rows to scan, so that it selects the last one if they are as many as they may be.
func (f *finder) onlyLast() string {
	return f.dialect.Order + " LIMIT 1 OFFSET " + strconv.Itoa(provider.MinRows-1)
}

// where returns the conditions that are checked on each row.
func (f *finder) where(args []any) *Clauses { return f.dialect.Where(f.rest(), args...) }

// rest returns what the ranges leave to check.
func (f *finder) rest() *provider.Filter {
	rest := *f.filter
	rest.Retrying = rest.Retrying && !f.tried
	if f.exact {
		rest.Name, rest.CodeVersions, rest.Statuses = "", nil, nil
	}
	if f.grouped {
		rest.FailureGroup = ""
	}
	return &rest
}

// number returns the number that a statement selects.
func number(q Lookup, sql string, args ...any) (int64, error) {
	list, err := q.Numbers(sql, args...)
	if err != nil || len(list) == 0 {
		return 0, err
	}
	return list[0], nil
}

// columns are those that conditions are on.
const columns = "i.key, i.id, i.current, i.kind, i.status, i.blocked, i.parent_key, i.created_at, i.ended_at"

// order ends with a number of rows. The order of a subquery with a limit stays that of the statement around it.
const order = " ORDER BY created_at DESC, key DESC LIMIT "

// choose chooses which rows to scan.
func (f *finder) choose() error {
	least := int64(f.most + 1)
	var best *Clauses
	for _, set := range f.sets() {
		c := &Clauses{dialect: f.dialect}
		set.add(c)
		sql := " FROM " + f.dialect.Table + set.table + " x" + c.SQL() + set.order + " LIMIT "
		n, err := number(f.lookup, "SELECT count(*) FROM (SELECT 1"+sql+strconv.Itoa(f.most+1)+") p", c.Args...)
		if err != nil {
			return err
		}
		rows := func(most int) string {
			return "SELECT " + columns + " FROM (SELECT x.key AS found" + set.with + sql + strconv.Itoa(most) + ") d " + f.dialect.ByKey + set.on
		}
		if n < least {
			least, best, f.sql, f.grouped = n, c, rows(f.most), set.on != ""
		} else if best == nil && f.large == "" {
			f.large, f.inLarge = rows(f.more+1), c.Args
		}
		if least <= fewRows || f.more == 0 && time.Since(f.began) > scanTime { // a count depends on the rows alone
			break
		}
	}
	if f.filter.Retrying && least > fewRows {
		n, err := f.tasksRetrying(f.most)
		if err != nil {
			return err
		}
		if n < least {
			f.set, f.tried, f.grouped = true, true, false
			c := &Clauses{dialect: f.dialect}
			f.past(c)
			f.sql, f.args = f.instancesRetrying(f.most)+c.SQL()+order+strconv.Itoa(f.most), c.Args
			return nil
		}
	}
	if best == nil {
		err := f.index()
		f.none = len(f.ranges) == 0
		return err
	}
	f.set = true
	c := &Clauses{dialect: f.dialect, Args: best.Args}
	f.past(c)
	f.sql, f.args = f.sql+c.SQL()+order+strconv.Itoa(f.most), c.Args
	return nil
}

// past leaves out what the cursor has passed.
func (f *finder) past(c *Clauses) {
	if f.after != nil {
		c.Add("(i.created_at, i.key) < (?, ?)", int64(f.after.At), f.dialect.UUID(f.after.Key))
	}
}

// A set is a condition on a table, x.
type set struct {
	table string
	add   func(*Clauses)
	with  string // more columns of x, as d
	on    string // a condition on d and i
	order string // of the one index that has few other rows
}

// sets returns the conditions of the filter that are sets.
func (f *finder) sets() (list []set) {
	if !f.filter.ParentKey.IsZero() {
		list = append(list, set{table: "instance", add: func(c *Clauses) { c.Add("x.parent_key = ?", f.dialect.UUID(f.filter.ParentKey)) }})
	}
	if len(f.filter.ParentKeys) > 0 {
		list = append(list, set{table: "instance", add: func(c *Clauses) { c.addParents("x", f.filter.ParentKeys) }})
	}
	for _, m := range matches(f.filter) {
		list = append(list, set{table: "attribute", add: func(c *Clauses) { c.match("x", &m) }})
	}
	if f.filter.IDPrefix != "" && !f.filter.Replaced { // the index has only the current ones
		list = append(list, set{table: "instance", add: func(c *Clauses) {
			c.Add("x.current = " + f.dialect.True)
			c.addPrefix("x.id", f.filter.IDPrefix)
		}})
	}
	if f.filter.EndedAfter != 0 || f.filter.EndedBefore != 0 {
		list = append(list, set{table: "instance", add: func(c *Clauses) {
			c.addTimes("x.ended_at", f.filter.EndedAfter, f.filter.EndedBefore)
			c.Add("x.ended_at > 0") // as the index says; SQLite begins where the first of these conditions says
		}})
	}
	if group := f.filter.FailureGroup; group != "" {
		list = append(list, set{
			table: "outcome", add: func(c *Clauses) { c.Add("x.failure_group"+f.dialect.Among, group) }, with: ", x.failed_at AS failed_at", on: onlyFailed,
			order: " ORDER BY x.failure_group, x.failed_at, x.key",
		})
	}
	return list
}

// onlyFailed chooses the instances that ended with the failure of a row, d.
const onlyFailed = " AND i.ended_at = d.failed_at AND i.status = 4"

// ofGroup returns a filter that also chooses the status of what has a group. None: no row matches.
func ofGroup(filter *provider.Filter) (narrow *provider.Filter, none bool) {
	if filter.FailureGroup == "" {
		return filter, false
	}
	narrow = new(provider.Filter)
	*narrow = *filter
	narrow.Statuses = []provider.Status{provider.StatusFailed}
	return narrow, len(filter.Statuses) > 0 && !slices.Contains(filter.Statuses, provider.StatusFailed)
}

// walk selects the next rows in the order of lists, at most so many. It merges several ranges of an index.
func (f *finder) walk(rows int) {
	c := &Clauses{dialect: f.dialect}
	parts := make([]string, 0, len(f.ranges))
	for _, text := range f.ranges {
		c.text = slices.DeleteFunc([]string{text}, func(s string) bool { return s == "" })
		before := f.createdBefore()
		if f.after != nil {
			before = 0 // the cursor is the nearer bound
		}
		c.addTimes("i.created_at", f.filter.CreatedAfter, before)
		f.past(c)
		part := "SELECT " + columns + " FROM " + f.dialect.Table + "instance i" + c.SQL()
		if f.dialect.Order != "" && len(f.ranges) > 1 {
			part = "(" + part + f.dialect.Order + ")"
		}
		parts = append(parts, part)
	}
	f.sql, f.args = strings.Join(parts, " UNION ALL ")+order+strconv.Itoa(rows), c.Args
}

// createdBefore returns the bound of creations. An instance that ended before a time was created before it, so a walk need not begin
// with newer rows. clockStep is room for a clock that was set back between.
func (f *finder) createdBefore() provider.Time {
	before := f.filter.CreatedBefore
	if ended := f.filter.EndedBefore; ended != 0 && (before == 0 || ended.Add(clockStep) < before) {
		before = ended.Add(clockStep)
	}
	return before
}

// index sets the ranges. None means that no row matches.
func (f *finder) index() (err error) {
	statuses := slices.Compact(slices.Sorted(slices.Values(f.filter.Statuses)))
	named := f.filter.Name != "" || len(f.filter.CodeVersions) > 0
	common := slices.ContainsFunc(statuses, func(s provider.Status) bool {
		return s == provider.StatusRunning || s == provider.StatusCompleted
	})
	all := provider.StatusTerminated - provider.StatusRunning + 1
	switch {
	case f.filter.Blocked:
		f.ranges = []string{"i.blocked = " + f.dialect.True}
		return nil
	case len(statuses) > 0 && !common && !named:
		for _, s := range statuses {
			f.ranges = append(f.ranges, "i.status = "+strconv.Itoa(int(s))+f.dialect.Rare)
		}
		f.exact = true
		return nil
	case !named && (len(statuses) == 0 || len(statuses) == int(all)):
		f.ranges = []string{""}
		return nil
	}
	if len(statuses) == 0 {
		for s := provider.StatusRunning; s <= provider.StatusTerminated; s++ {
			statuses = append(statuses, s)
		}
	}
	f.ranges, err = f.pairs(statuses)
	return err
}

// pairs returns the pairs of a kind and a status that have rows, as conditions. If they are too many to be merged, all rows are read.
func (f *finder) pairs(statuses []provider.Status) ([]string, error) {
	d, c := f.dialect, &Clauses{dialect: f.dialect}
	c.kind(f.filter)
	values := make([]string, 0, len(statuses))
	for _, s := range statuses {
		values = append(values, "SELECT "+strconv.Itoa(int(s))+" AS status")
	}
	c.Add("(SELECT " + d.True + " FROM " + d.Table + "instance i WHERE i.kind = k.id AND i.status = s.status LIMIT 1)")
	found, err := f.lookup.Numbers("SELECT k.id * "+strconv.Itoa(statusBits)+" + s.status FROM "+d.Table+"kind k CROSS JOIN ("+
		strings.Join(values, " UNION ALL ")+") s"+c.SQL()+" LIMIT "+strconv.Itoa(manyKinds+1), c.Args...)
	if err != nil || len(found) > manyKinds {
		return []string{""}, err
	}
	f.exact = true
	list := make([]string, 0, len(found))
	for _, n := range found {
		list = append(list, "i.kind = "+strconv.FormatInt(n/statusBits, 10)+" AND i.status = "+strconv.FormatInt(n%statusBits, 10))
	}
	return list, nil
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
