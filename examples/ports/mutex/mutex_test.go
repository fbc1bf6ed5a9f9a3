package mutex_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/ports/mutex"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
)

// Three jobs come at once for two machines. To prepare one takes an hour, and each job waits for its turn.
func TestNoMachineHasTwoJobs(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.Replace(e, mutex.Prepare, nil, orchestrationtest.Delay(time.Hour), orchestrationtest.Times(4))
		h := orchestrationtest.Start(e, mutex.Pool, []string{"one", "two"})
		began := time.Now()
		var sent []client.UpdateHandle[string]
		send := func(update, job string) {
			u, err := client.SendUpdate[string](e.Context(), h.Handle, update, job)
			if err != nil {
				t.Fatal(err)
			}
			sent = append(sent, u)
		}
		send("assign", "a")
		send("assign", "b")
		send("release", "a")
		send("assign", "c")
		var got []string
		for _, u := range sent {
			machine, err := u.Wait(e.Context())
			got = append(got, fmt.Sprint(machine, " ", err, " ", time.Since(began)))
		}
		if fmt.Sprint(got) != "[one <nil> 1h0m0s two <nil> 2h0m0s one <nil> 3h0m0s one <nil> 4h0m0s]" {
			t.Errorf("%q", got)
		}
		if err := h.Raise(e.Context(), "close", orchestration.None{}); err != nil {
			t.Fatal(err)
		}
		uses, err := h.Wait(e.Context())
		if fmt.Sprint(uses) != "[{one c} {two b}]" || err != nil {
			t.Error(uses, err)
		}
	})
}

func TestFullPool(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		h := orchestrationtest.Start(e, mutex.Pool, nil)
		_, err := client.Update[string](e.Context(), h.Handle, "assign", "a")
		if !errors.Is(err, client.ErrUpdateFailed) {
			t.Error(err)
		}
	})
}
