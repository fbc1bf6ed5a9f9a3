package programs

import (
	"fmt"

	"github.com/perdure/perdure/orchestration"
)

// Errand is what an instance that is no child has to do.
type Errand struct {
	Starter orchestration.Instance
	Box     string // the event for the starter
	Stay    bool   // until it is cancelled
}

// away starts an instance that is no child. It sends an event there, gets one back, cancels the instance if it stays, and is told of its end.
func (t *thread) away(ctx *octx, s *Statement) {
	run := fmt.Sprintf("%d.%d", s.ID, t.w.runs[s.ID])
	info := ctx.Info()
	errand := Errand{Starter: orchestration.Instance{ID: info.ID, Key: info.Key}, Box: "reply " + run, Stay: s.N%2 == 1}
	there, started := orchestration.StartDetachedNamed(ctx, nameErrand, errand,
		orchestration.WithInstanceID(info.ID+".away."+run), orchestration.TellEnd("end "+run)).Get(ctx)
	_, raised := there.Raise(ctx, "number", s.N).Get(ctx)
	got, err := orchestration.Events[int](ctx, errand.Box).Receive(ctx, orchestration.Within(forever))
	t.seef(ctx, s, "%s %s %d %s", class(started), class(raised), got, class(err))
	if errand.Stay {
		_, err := orchestration.CancelInstance(ctx, there.ID, "it has replied").Get(ctx)
		t.seef(ctx, s, "%s", class(err))
	}
	end, err := orchestration.Events[orchestration.Ended](ctx, "end "+run).Receive(ctx, orchestration.Within(forever))
	t.seef(ctx, s, "%v %s", end.Instance == there, class(err))
}

// away predicts it in a live scope.
func (m *model) away(s *Statement) {
	m.seef(s, "ok ok %d ok", 2*s.N+1)
	if s.N%2 == 1 {
		m.seef(s, "ok")
	}
	m.seef(s, "true ok")
}

// errand is the code of the other instance.
func errand(ctx *octx, e Errand) (none, error) {
	n, err := orchestration.Events[int](ctx, "number").Receive(ctx)
	if err != nil {
		return none{}, err
	}
	if _, err := e.Starter.Raise(ctx, e.Box, 2*n+1).Get(ctx); err != nil {
		return none{}, err
	}
	if e.Stay {
		return none{}, ctx.Sleep(forever)
	}
	return none{}, nil
}
