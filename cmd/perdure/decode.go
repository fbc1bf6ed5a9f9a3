package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/codec"
)

// clientOptions returns the options of the client of a command.
func (a *app) clientOptions() client.Options {
	o := client.Options{Logger: a.logger}
	if a.decode != "" {
		o.Codec = codec.OpenOnly(decoder{command: a.decode})
	}
	return o
}

// decoder opens encrypted values by a command of the shell.
type decoder struct{ command string }

// encryptedItem is what the command gets for a value, one a line.
type encryptedItem struct {
	Key     string        `json:"key"`
	Purpose codec.Purpose `json:"purpose"`
	Bytes   []byte        `json:"bytes"`
}

var errSealing = errors.New("the command line encrypts nothing")

// Growth implements codec.Codec.
func (decoder) Growth() int { return 0 }

// Seal implements codec.Codec. It is never called.
func (decoder) Seal(context.Context, []codec.Plain) ([]codec.Sealed, error) { return nil, errSealing }

// Open implements codec.Codec. The command prints a JSON string with the value in base 64 for each item, or null if it has no key.
func (d decoder) Open(ctx context.Context, items []codec.Sealed) ([]codec.Plain, error) {
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	for _, item := range items {
		if err := encoder.Encode(encryptedItem{Key: item.KeyID, Purpose: item.Purpose, Bytes: item.Bytes}); err != nil {
			return nil, fmt.Errorf("decoding: %w", err)
		}
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", d.command) //nolint:gosec // the caller of the command line chooses the command
	var stderr strings.Builder
	cmd.Stdin, cmd.Stderr = &lines, &stderr
	printed, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("decoding: command %q: %w\n%s", d.command, err, strings.TrimSpace(stderr.String()))
	}
	answers, out := json.NewDecoder(bytes.NewReader(printed)), make([]codec.Plain, len(items))
	for i := range items {
		var value *[]byte
		if err := answers.Decode(&value); err != nil {
			return nil, fmt.Errorf("decoding: command %q printed %d of %d values: %w", d.command, i, len(items), err)
		}
		if value == nil {
			return nil, fmt.Errorf("%w: command %q has no value for key %q", codec.ErrNoKey, d.command, items[i].KeyID)
		}
		out[i] = codec.Plain{Purpose: items[i].Purpose, Bytes: *value}
	}
	return out, nil
}
