package requestbyevent_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/ports/requestbyevent"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
)

// More requests than one execution takes: the answers go over to the next one.
func TestAnswers(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.AddActivity(e, requestbyevent.Upper)
		replies := orchestrationtest.Replace(e, requestbyevent.Reply, nil)
		h := orchestrationtest.Start(e, requestbyevent.Serve, requestbyevent.State{})
		for i := range 600 {
			r := requestbyevent.Request{ID: fmt.Sprint(i), Text: fmt.Sprintf("text %d", i)}
			if i%2 == 0 {
				r.ReplyTo = "https://caller.example/replies"
			}
			if err := h.Raise(e.Context(), "request", r, client.WithRequestID(r.ID)); err != nil {
				t.Fatal(err)
			}
		}
		e.Sleep(time.Minute)
		for i, want := range map[int]string{599: "TEXT 599", 401: "TEXT 401", 399: "", 598: ""} {
			got, err := client.Query[string](e.Context(), h.Handle, "answer", fmt.Sprint(i))
			if got != want || (err == nil) != (want != "") || err != nil && !strings.Contains(err.Error(), requestbyevent.ErrUnknown.Error()) {
				t.Errorf("answer %d is %q, %v, want %q", i, got, err, want)
			}
		}
		calls := replies.Calls()
		if len(calls) != 300 || calls[299].In.Text != "TEXT 598" {
			t.Errorf("%d replies, the last one %+v", len(calls), calls[len(calls)-1].In)
		}
		if err := h.Cancel(e.Context(), "done"); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Wait(e.Context()); !errors.Is(err, orchestration.ErrCancelled) {
			t.Errorf("it ended with %v", err)
		}
	})
}
