package programs

import "fmt"

// model predicts what a program sees by walking it without an engine.
type model struct {
	lines []string
	early int
	shown showings
}

// predict returns the outcome of a program.
func predict(p Program) Outcome {
	m := &model{}
	scope := "" // the class of the error of the root scope
	for i, round := range p.Rounds {
		if thrown := m.block(scope, round.Body); thrown != "" {
			return Outcome{Status: "Failed", Class: "thrown " + thrown, Executions: int64(i) + 1, Lines: m.lines, Shown: m.shown.list(i)}
		}
		if round.Cancel {
			scope = "cancelled"
			m.lines = append(m.lines, "0 cancel: ok", "0 cancel: cancelled")
		}
	}
	o := Outcome{Status: "Completed", Class: "ok", Executions: int64(len(p.Rounds)), Lines: m.lines, Shown: m.shown.list(len(p.Rounds) - 1)}
	if scope != "" && p.Fails {
		o.Status, o.Class = "Cancelled", "thrown cancelled"
	}
	return o
}

func (m *model) seef(s *Statement, format string, args ...any) {
	m.lines = append(m.lines, fmt.Sprintf("%d %s: ", s.ID, s.Do)+fmt.Sprintf(format, args...))
}

// block walks statements in a scope, which is dead if it has an error. It returns the error that they throw.
func (m *model) block(scope string, body []Statement) string {
	for i := range body {
		if thrown := m.step(scope, &body[i]); thrown != "" {
			return thrown
		}
	}
	return ""
}

func (m *model) step(scope string, s *Statement) string {
	if m.call(scope, s) || m.wait(scope, s) || m.waitForCode(scope, s) || m.compete(scope, s) || m.together(scope, s) {
		return ""
	}
	return m.nest(scope, s)
}

// classOf returns the class of an operation's error: alive in a live scope, else the scope's.
func classOf(scope, alive string) string {
	if scope != "" {
		return scope
	}
	return alive
}

// valueOf returns the value of a call, which is zero in a dead scope.
func valueOf(scope string, alive int) int {
	if scope != "" {
		return 0
	}
	return alive
}

func (m *model) call(scope string, s *Statement) bool {
	switch s.Do {
	case doCall:
		m.seef(s, "%d %s", valueOf(scope, 2*s.N+1), classOf(scope, "ok"))
	case doBulk:
		m.seef(s, "%d %s", valueOf(scope, 2048*s.N), classOf(scope, "ok"))
	case doRetry:
		if attempt := s.N%5 + 1; attempt <= 3 {
			m.seef(s, "attempt %d %s", valueOf(scope, attempt), classOf(scope, "ok"))
		} else {
			m.seef(s, "attempt 0 %s", classOf(scope, "refused"))
		}
	case doFinal, doPanic:
		m.seef(s, "%s", classOf(scope, s.Do))
	case doSlow:
		m.seef(s, "%s", classOf(scope, "timeout"))
	case doDenied:
		m.seef(s, "%s", classOf(scope, fmt.Sprint("denied ", s.N)))
	case doFan:
		sum, alive := 0, "ok"
		for i := range s.N {
			if i%3 < 2 {
				sum += i * (2*i + 1)
			} else {
				alive = "denied 2"
			}
		}
		if s.N == 0 {
			scope = ""
		}
		m.seef(s, "%d %s", valueOf(scope, sum), classOf(scope, alive))
	default:
		return false
	}
	return true
}

func (m *model) wait(scope string, s *Statement) bool {
	switch s.Do {
	case doSleep:
		m.seef(s, "%s, early false", classOf(scope, "ok"))
	case doRing, doPoll:
		m.seef(s, "%d %s", valueOf(scope, s.N), classOf(scope, "ok"))
	case doSelect:
		m.choose(scope, s)
	case doWithin:
		m.seef(s, "%s", classOf(scope, "timeout"))
	case doEarly:
		for range s.N {
			m.early++
			m.seef(s, "%d ok true", m.early)
		}
	case doServed:
		m.seef(s, "ok")
	case doEffect:
		if s.N%2 == 1 {
			m.seef(s, "0 refused")
		} else {
			m.seef(s, "%d ok", s.N)
		}
	case doPatch:
		m.seef(s, "ok")
	case doShow:
		m.shown.show(s)
	case doOrder:
	default:
		return false
	}
	return true
}

// choose: in a dead scope everything that was begun has failed and is ready, except coroutines.
func (m *model) choose(scope string, s *Statement) {
	if scope == "" {
		m.seef(s, "%d %d ok", len(s.Kinds), s.N)
		return
	}
	for i, kind := range s.Kinds {
		if kind != listen {
			m.seef(s, "%d 0 ok", i)
			return
		}
	}
	m.seef(s, "-1 0 %s", scope)
}

func (m *model) compete(scope string, s *Statement) bool {
	switch s.Do {
	case doGiveUp:
		m.seef(s, "%s", classOf(scope, "cancelled"))
	case doRace:
		winner := s.N % (len(s.Kinds) + 1)
		m.seef(s, "%d %d %s", valueOf(scope, winner), valueOf(scope, 2*s.N+1), classOf(scope, "ok"))
	case doRush:
		thrown := m.block(scope, s.Bodies[0])
		m.seef(s, "%d %s", s.N%(len(s.Kinds)+1), thrownClass(thrown))
	case doChild, doTwice:
		o := predict(*s.Child)
		m.lines = append(m.lines, o.Lines...)
		m.seef(s, "%s", o.Class)
		if s.Do == doTwice {
			m.seef(s, "exists")
		}
	case doAway:
		m.away(s)
	default:
		return false
	}
	return true
}

func thrownClass(thrown string) string {
	if thrown == "" {
		return "ok"
	}
	return "thrown " + thrown
}

func (m *model) nest(scope string, s *Statement) string {
	switch s.Do {
	case doThrow:
		return fmt.Sprint(s.ID)
	case doPar:
		for _, body := range s.Bodies {
			m.seef(s, "%s", thrownClass(m.block(scope, body)))
		}
	case doLoop:
		for range 1 + s.N%3 {
			if thrown := m.block(scope, s.Bodies[0]); thrown != "" {
				return thrown
			}
		}
	case doTry:
		m.seef(s, "%s", thrownClass(m.block(scope, s.Bodies[0])))
	case doDetached:
		return m.block("", s.Bodies[0])
	case doPatient:
		return m.block(scope, s.Bodies[0])
	case doTimeout:
		return m.cleanUp(classOf(scope, "timeout"), s, s.Bodies)
	case doScope:
		if thrown := m.block(scope, s.Bodies[0]); thrown != "" {
			return thrown
		}
		return m.cleanUp(classOf(scope, "cancelled"), s, s.Bodies[1:])
	}
	return ""
}

// cleanUp walks what follows the end of a scope: one body inside of it and one outside.
func (m *model) cleanUp(scope string, s *Statement, bodies [][]Statement) string {
	for range s.Kinds {
		m.seef(s, "%s", scope)
	}
	first, second := m.block(scope, bodies[0]), m.block("", bodies[1])
	if first != "" {
		return first
	}
	return second
}
