package programs

import "slices"

// shrink searches for a smaller program that is still wrong, in at most the given number of tries.
func shrink(p Program, tries int, wrong func(Program) bool) Program {
	for {
		smaller := false
		for _, candidate := range smallerPrograms(p) {
			if tries--; tries < 0 {
				return p
			}
			if wrong(candidate) {
				p, smaller = candidate, true
				break
			}
		}
		if !smaller {
			return p
		}
	}
}

// smallerPrograms returns programs with one thing less.
func smallerPrograms(p Program) []Program {
	var all []Program
	if p.Around {
		q := p
		q.Around = false
		all = append(all, q)
	}
	for i := range p.Rounds {
		if len(p.Rounds) > 1 && !p.Rounds[i].Cancel {
			q := p
			q.Rounds = slices.Delete(slices.Clone(p.Rounds), i, i+1)
			all = append(all, q)
		}
	}
	for i, round := range p.Rounds {
		with := func(r Round) {
			q := p
			q.Rounds = slices.Clone(p.Rounds)
			q.Rounds[i] = r
			all = append(all, q)
		}
		for _, body := range smallerBodies(round.Body) {
			with(Round{Body: body, Cancel: round.Cancel, Leave: round.Leave})
		}
		if len(round.Leave) > 0 {
			with(Round{Body: round.Body, Cancel: round.Cancel, Leave: round.Leave[1:]})
		}
	}
	return all
}

// smallerBodies returns bodies with one statement less, or with a smaller one.
func smallerBodies(body []Statement) [][]Statement {
	var all [][]Statement
	for i := range body {
		if body[i].Do != doEarly && body[i].Do != doServed { // the driver's events are counted
			all = append(all, slices.Delete(slices.Clone(body), i, i+1))
		}
	}
	for i, s := range body {
		for _, smaller := range smallerStatements(s) {
			b := slices.Clone(body)
			b[i] = smaller
			all = append(all, b)
		}
	}
	return all
}

func smallerStatements(s Statement) []Statement {
	var all []Statement
	for i := range s.Bodies {
		for _, body := range smallerBodies(s.Bodies[i]) {
			q := s
			q.Bodies = slices.Clone(s.Bodies)
			q.Bodies[i] = body
			all = append(all, q)
		}
	}
	if s.Child != nil {
		for _, child := range smallerPrograms(*s.Child) {
			q := s
			q.Child = &child
			all = append(all, q)
		}
	}
	return all
}
