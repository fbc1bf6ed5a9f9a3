package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/runtime"
)

func refuse(_ context.Context, _ string) (string, error) { return "", errors.New("ann has no money") }

func refused(ctx *orchestration.Context, name string) (string, error) {
	if _, err := orchestration.CallActivity(ctx, refuse, name); err == nil {
		return "", errors.New("nobody refused")
	}
	return "sorry, " + name, nil
}

// A redacted history has nothing that users wrote, and still replays.
func TestRedactedHistoryReplays(t *testing.T) {
	h := exportedFailure(t)
	var fields []string
	redacted, err := h.Redact(func(v client.HistoryValue) (json.RawMessage, error) {
		fields = append(fields, v.Kind+" "+v.Field)
		return json.RawMessage(`"x"`), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "ExecutionStarted input, ActivityScheduled input, ActivityFailed error, ExecutionCompleted output"
	if got := strings.Join(fields, ", "); got != want {
		t.Errorf("values %s, want %s", got, want)
	}
	if before, after := bytes.Join(h.Events, nil), bytes.Join(redacted.Events, nil); !bytes.Contains(before, []byte("ann")) || bytes.Contains(after, []byte("ann")) {
		t.Errorf("the name is in %q, and in %q", before, after)
	}
	reg := runtime.NewRegistry()
	if err := errors.Join(runtime.AddActivity(reg, refuse), runtime.AddOrchestration(reg, refused)); err != nil {
		t.Fatal(err)
	}
	if err := runtime.Replay(t.Context(), reg, redacted); err != nil {
		t.Error(err)
	}
}

// swap returns other JSON in place of the text of an error.
func swap(v client.HistoryValue, text string) json.RawMessage {
	if v.Field == "error" {
		return json.RawMessage(text)
	}
	return v.Value
}

func TestRedactRefuses(t *testing.T) {
	broken := errors.New("broken")
	for text, answer := range map[string]func(v client.HistoryValue) (json.RawMessage, error){
		"broken":          func(client.HistoryValue) (json.RawMessage, error) { return nil, broken },
		"is no JSON":      func(client.HistoryValue) (json.RawMessage, error) { return json.RawMessage("{"), nil },
		"no JSON string":  func(v client.HistoryValue) (json.RawMessage, error) { return swap(v, "7"), nil },
		"\"null\", which": func(v client.HistoryValue) (json.RawMessage, error) { return swap(v, "null"), nil },
	} {
		h := exportedFailure(t)
		_, err := h.Redact(answer)
		if err == nil || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), "redacting event ") {
			t.Errorf("%v, want %q and the event", err, text)
		}
	}
}

// exportedFailure returns the history of an instance with an error.
func exportedFailure(t *testing.T) (h client.HistoryFile) {
	t.Helper()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.AddActivity(e, refuse)
		run := orchestrationtest.Start(e, refused, "ann")
		if _, err := run.Wait(e.Context()); err != nil {
			t.Fatal(err)
		}
		var err error
		if h, err = run.ExportHistory(e.Context(), 0); err != nil {
			t.Fatal(err)
		}
	})
	return h
}
