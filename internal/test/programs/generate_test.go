package programs

import (
	"math/rand/v2"
	"slices"
)

// generator draws programs from its seed alone.
type generator struct {
	*rand.Rand

	id   int
	room int // statements left to draw
}

// generate draws the program of a seed.
func generate(seed uint64) Program {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1)), room: 16}
	if g.IntN(20) == 0 {
		g.room = 60
	}
	p := g.program(3)
	for i := range p.Rounds {
		if n := g.IntN(3); n > 0 {
			p.Served += n
			g.id++
			p.Rounds[i].Body = append(p.Rounds[i].Body, Statement{ID: g.id, Do: doServed, N: p.Served})
		}
		if n := g.IntN(4); n > 0 {
			p.Events += n
			g.id++
			early := Statement{ID: g.id, Do: doEarly, N: n}
			p.Rounds[i].Body = append(p.Rounds[i].Body, early)
		}
	}
	p.wait(rand.New(rand.NewPCG(seed, 2)))
	// Code that goes on after a cancellation cannot wait for handlers.
	p.Late = g.IntN(2) == 0 && !slices.ContainsFunc(p.Rounds, func(r Round) bool { return r.Cancel })
	p.Around = rand.New(rand.NewPCG(seed, 4)).IntN(3) == 0 // the rest of the program stays as it is
	return p
}

// wait lets some simple statements wait for conditions and promises. It draws from numbers of its own, so that the other statements
// of a seed stay as they are.
func (p *Program) wait(r *rand.Rand) {
	var block func(body []Statement)
	block = func(body []Statement) {
		for i := range body {
			s := &body[i]
			switch s.Do {
			case doSleep, doRing, doEffect, doDenied:
				if n := r.IntN(6); n < 2 {
					s.Do = []string{doAwait, doPromise}[n]
				}
			case doServed:
				s.Local = r.IntN(2) == 0
			}
			for _, nested := range s.Bodies {
				block(nested)
			}
			if s.Child != nil {
				s.Child.wait(r)
			}
		}
	}
	for _, round := range p.Rounds {
		block(round.Body)
	}
}

// program draws what one instance does, with blocks of at most the given depth.
func (g *generator) program(depth int) Program {
	p := Program{Fails: g.IntN(2) == 0}
	dead := false
	for more := true; more; more = g.IntN(3) == 0 && len(p.Rounds) < 4 {
		r := Round{Body: g.block(depth, dead)}
		if g.IntN(8) == 0 {
			r.Cancel, dead = true, true
		}
		if g.IntN(3) == 0 {
			r.Leave = g.kinds(2)
		}
		p.Rounds = append(p.Rounds, r)
	}
	return p
}

// block draws consecutive statements. It draws no coroutines in a dead scope: nothing waits there, so they would run at
// the same time as the statements that follow.
func (g *generator) block(depth int, dead bool) []Statement {
	var b []Statement
	for n := 1 + g.IntN(4); n > 0 && g.room > 0; n-- {
		b = append(b, g.statement(depth, dead))
	}
	return b
}

func (g *generator) statement(depth int, dead bool) Statement {
	g.room--
	g.id++
	s := Statement{ID: g.id, N: g.IntN(12), Local: g.id%3 == 0}
	simple := []string{
		doCall, doCall, doCall, doBulk, doRetry, doRetry, doFinal, doPanic, doSlow, doDenied, doFan, doSleep, doSleep, doRing, doRing,
		doPoll, doSelect, doWithin, doEffect, doEffect, doPatch, doPatch, doShow, doShow, doOrder, doRace, doGiveUp,
	}
	nested := append([]string{doLoop, doTry, doDetached, doTimeout, doPatient, doScope}, togetherStatements()...)
	if !dead {
		nested = append(nested, doPar, doPar, doPar, doChild, doChild, doTwice, doRush, doAway)
	}
	switch {
	case depth < 3 && g.IntN(25) == 0:
		s.Do = doThrow
	case depth > 0 && g.IntN(5) < 2:
		s.Do = nested[g.IntN(len(nested))]
	default:
		s.Do = simple[g.IntN(len(simple))]
	}
	if s.Do == doChild || s.Do == doTwice || s.Do == doGiveUp {
		s.Family = 1 + s.ID%30 // no draw: that would make other programs of the seeds
	}
	g.fill(&s, depth-1, dead)
	return s
}

// fill draws the fields of a statement.
func (g *generator) fill(s *Statement, depth int, dead bool) {
	switch s.Do {
	case doFan:
		if g.IntN(40) == 0 {
			s.N, s.Local = 300, false // more than an execution may have at once
		}
	case doSelect, doRace:
		s.Kinds = g.kinds(3)
	case doGiveUp:
		s.Kinds = []string{[]string{hangs, sleeps, stays}[g.IntN(3)]}
	case doChild, doTwice:
		p := g.program(depth)
		s.Child = &p
	case doRush:
		s.Kinds = g.kinds(3)
		s.Bodies = [][]Statement{g.block(depth, dead)}
	case doPar:
		for range 1 + g.IntN(4) {
			s.Bodies = append(s.Bodies, g.block(depth, dead))
		}
	case doLoop, doTry, doPatient:
		s.Bodies = [][]Statement{g.block(depth, dead)}
	case doDetached:
		s.Bodies = [][]Statement{g.block(depth, false)}
	case doTimeout:
		s.Kinds = g.kinds(3)
		s.Bodies = [][]Statement{g.block(depth, true), g.block(depth, false)}
	case doScope:
		s.Kinds = g.kinds(3)
		s.Bodies = [][]Statement{g.block(depth, dead), g.block(depth, true), g.block(depth, false)}
	default:
		g.fillTogether(s, depth, dead)
	}
}

// kinds draws one to n endless things.
func (g *generator) kinds(n int) []string {
	all := []string{hangs, sleeps, stays, listen}
	kinds := make([]string, 1+g.IntN(n))
	for i := range kinds {
		kinds[i] = all[g.IntN(len(all))]
	}
	return kinds
}
