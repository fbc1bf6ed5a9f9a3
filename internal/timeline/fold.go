package timeline

import (
	"cmp"
	"slices"
	"time"
)

// fold makes groups of rows until there are not too many. Runs of one name become a group always; where that leaves too many, all steps of a name
// do, between two parts of the history; and where that leaves too many, a last row says how many are left out.
func (b *builder) fold(rows []Row) []Row {
	left := maxMembers
	rows = b.foldRuns(rows, &left)
	if len(rows) > b.opts.MaxRows {
		rows = b.foldNames(rows, &left)
	}
	if len(rows) > b.opts.MaxRows {
		rows = leaveOut(rows, b.opts.MaxRows)
	}
	return rows
}

// foldable reports whether a row may be in a group, and what its group is called.
func foldable(r *Row) (group [2]string, ok bool) {
	switch r.Kind {
	case KindGap, KindWait, KindBlocked, KindMore:
		return group, false
	case KindMark:
		return [2]string{r.Kind, r.Name}, r.Name == "patch"
	}
	return [2]string{r.Kind, r.Name}, true
}

func (b *builder) foldRuns(rows []Row, left *int) (folded []Row) {
	for from := 0; from < len(rows); {
		name, ok := foldable(&rows[from])
		to := from + 1
		for ok && to < len(rows) {
			if next, ok := foldable(&rows[to]); !ok || next != name {
				break
			}
			to++
		}
		if to-from >= foldFrom {
			folded = append(folded, b.group(rows[from:to], left))
		} else {
			folded = append(folded, rows[from:to]...)
		}
		from = to
	}
	return folded
}

// foldNames makes one group of all rows of a name, in the place of the first one.
func (b *builder) foldNames(rows []Row, left *int) (folded []Row) {
	of := map[[2]string][]Row{}
	for i := range rows {
		if name, ok := foldable(&rows[i]); ok {
			of[name] = append(of[name], rows[i])
		}
	}
	for i := range rows {
		name, ok := foldable(&rows[i])
		switch same := of[name]; {
		case !ok, len(same) == 1:
			folded = append(folded, rows[i])
		case len(same) > 1:
			folded = append(folded, b.group(same, left))
			of[name] = nil
		}
	}
	return folded
}

// group returns the row of several rows. *left is how many members the timeline may still have.
func (b *builder) group(rows []Row, left *int) Row {
	g := Row{Kind: rows[0].Kind, Name: rows[0].Name, Event: rows[0].Event, State: Done, States: map[State]int{}, Point: true}
	known := true
	var members []Row
	for i := range rows {
		r := &rows[i]
		g.Count += r.Count
		if r.grouped() {
			for s, n := range r.States {
				g.States[s] += n
			}
			members = append(members, r.Members...)
		} else {
			g.States[r.State]++
			members = append(members, *r)
		}
		g.Point = g.Point && r.Point
		if known = known && !r.Began.IsZero(); known && (i == 0 || r.Began.Before(g.Began)) {
			g.Began = r.Began
		}
		if r.Ended.After(g.Ended) {
			g.Ended = r.Ended
		}
		if !r.Next.IsZero() && (g.Next.IsZero() || r.Next.Before(g.Next)) {
			g.Next = r.Next
		}
	}
	if !known {
		g.Began = time.Time{}
	}
	for _, s := range []State{Unknown, GivenUp, Failed, Open} {
		if g.States[s] > 0 {
			g.State = s
		}
	}
	if g.State == Open || g.State == Unknown || g.Point {
		g.Ended = time.Time{}
	}
	g.Spans = b.merged(&g, rows)
	slices.SortStableFunc(members, func(x, y Row) int { return cmp.Compare(urgency(x.State), urgency(y.State)) })
	n := min(len(members), groupMembers, *left)
	*left -= n
	g.Members = slices.Clip(members[:n])
	return g
}

// urgency orders the members of a group.
func urgency(s State) int { return slices.Index([]State{Open, Failed, Unknown, GivenUp, Done}, s) }

// merged returns the parts of the axis in which one or more of the rows of a group went on, and those in which one failed.
func (b *builder) merged(g *Row, rows []Row) (spans []Span) {
	type part struct{ busy, failed, open bool }
	var parts [maxParts]part
	whole := b.line.Whole()
	if whole <= 0 {
		return nil
	}
	place := func(at time.Time) int { return min(maxParts-1, int(b.line.Place(at)*maxParts)) }
	for i := range rows {
		r := &rows[i]
		from, to := r.Began, r.Ended
		switch {
		case r.Point:
			to = from
		case r.State == Open:
			to = b.line.End
		case to.IsZero():
			to = from
		}
		if from.IsZero() {
			from = to
		}
		if from.IsZero() {
			continue
		}
		for p := place(from); p <= place(to); p++ {
			parts[p].busy = true
			parts[p].open = parts[p].open || r.State == Open
		}
		parts[place(to)].failed = parts[place(to)].failed || r.State == Failed
	}
	at := func(p int) time.Time { return b.line.Begin.Add(time.Duration(float64(whole) * float64(p) / maxParts)) }
	for p := 0; p < maxParts; {
		q := p + 1
		for q < maxParts && parts[q] == parts[p] {
			q++
		}
		if parts[p].busy {
			kind := SpanWhole
			if parts[p].open {
				kind = SpanWaiting
			}
			spans = append(spans, Span{Kind: kind, Began: at(p), Ended: at(q), Failed: parts[p].failed})
		}
		p = q
	}
	if n := len(spans); n > 0 { // parts of the axis are wider than what is in them
		if !g.Began.IsZero() {
			spans[0].Began = g.Began
		}
		if !g.Ended.IsZero() {
			spans[n-1].Ended = g.Ended
		}
	}
	return spans
}

// leaveOut keeps the most urgent rows, and of equal ones the first, and says how many it leaves out.
func leaveOut(rows []Row, most int) []Row {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	rank := func(i int) int {
		switch rows[i].Kind {
		case KindGap, KindWait, KindBlocked, KindMark:
			return -1
		}
		return urgency(rows[i].State)
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(rank(x), rank(y)) })
	kept := order[:most-1]
	more := Row{Kind: KindMore, Name: "more, left out", State: Done, States: map[State]int{}}
	for _, i := range order[most-1:] {
		more.Count += rows[i].Count
		if rows[i].grouped() {
			for s, n := range rows[i].States {
				more.States[s] += n
			}
		} else {
			more.States[rows[i].State]++
		}
	}
	slices.Sort(kept)
	result := make([]Row, 0, most)
	for _, i := range kept {
		result = append(result, rows[i])
	}
	return append(result, more)
}
