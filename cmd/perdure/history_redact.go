package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/amount"
)

// redact returns the history with what a command of the shell prints in place of its values; without a command it returns it as it is.
func redact(ctx context.Context, h client.HistoryFile, command string) (client.HistoryFile, error) {
	if command == "" {
		return h, nil
	}
	var lines bytes.Buffer
	encoder, values := json.NewEncoder(&lines), 0
	if _, err := h.Redact(func(v client.HistoryValue) (json.RawMessage, error) {
		values++
		return v.Value, encoder.Encode(v)
	}); err != nil || values == 0 {
		return h, err
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", command) //nolint:gosec // the caller of the command line chooses the command
	var stderr strings.Builder
	cmd.Stdin, cmd.Stderr = &lines, &stderr
	printed, err := cmd.Output()
	if err != nil {
		return h, fmt.Errorf("redacting the history of %q: command %q: %w\n%s", h.InstanceID, command, err, strings.TrimSpace(stderr.String()))
	}
	answers, read := json.NewDecoder(bytes.NewReader(printed)), 0
	next := func(client.HistoryValue) (value json.RawMessage, err error) {
		if err = answers.Decode(&value); err == nil {
			read++
			return value, nil
		}
		return nil, fmt.Errorf("command %q printed %d of %d values: %w", command, read, values, err)
	}
	h, err = h.Redact(next)
	if err == nil && answers.More() {
		err = fmt.Errorf("redacting the history of %q: command %q printed more than %s", h.InstanceID, command, amount.Of(values, "value"))
	}
	return h, err
}
