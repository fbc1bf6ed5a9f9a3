package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/internal/sealing"
	"github.com/perdure/perdure/provider"
)

// clientOptions returns the options of the client of a command.
func (a *app) clientOptions() client.Options {
	o := client.Options{Logger: a.logger}
	if a.decode != "" {
		a.decoder = &decoder{command: a.decode}
		o.Codec = codec.OpenOnly(a.decoder)
	}
	return o
}

// decoder opens encrypted values by a command of the shell.
type decoder struct {
	command string

	mu     sync.Mutex
	failed error // why the command could not be used first; nil: it could
}

// decodeError means that the command of --decode does not do what it must.
type decodeError struct{ text string }

func (e *decodeError) Error() string { return "flag --decode: " + e.text }

// Is says that a repeat is of no use.
func (e *decodeError) Is(target error) bool { return target == sealing.ErrHopeless }

// maxPrinted bounds what an error quotes of a command, in bytes.
const maxPrinted = 300

// fail notes that the command failed.
func (d *decoder) fail(what string, printed []byte, stderr string) error {
	var text strings.Builder
	fmt.Fprintf(&text, "command %q %s: it must print a JSON string in base 64, or null, for each line that it gets", d.command, what)
	for _, out := range []struct{ name, text string }{{"standard output", string(printed)}, {"standard error", stderr}} {
		if out.text = strings.TrimSpace(out.text); out.text != "" {
			fmt.Fprintf(&text, "; its %s begins with %q", out.name, strings.ToValidUTF8(out.text[:min(len(out.text), maxPrinted)], ""))
		}
	}
	err := &decodeError{text.String()}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failed == nil {
		d.failed = err
	}
	return err
}

// usage returns an error of usage if the command of --decode has failed, and err otherwise. Lists show what they could not decrypt all the same.
func (a *app) usage(err error) error {
	if a.decoder != nil {
		a.decoder.mu.Lock()
		defer a.decoder.mu.Unlock()
		if a.decoder.failed != nil {
			return &usageError{a.decoder.failed}
		}
	}
	if a.decode != "" && errors.Is(err, provider.ErrReadOnly) {
		return badUsage("flag --decode: with it a command changes nothing, and this one has to: leave the flag out")
	}
	return err
}

// encryptedItem is what the command gets for a value, one a line.
type encryptedItem struct {
	Key     string        `json:"key"`
	Purpose codec.Purpose `json:"purpose"`
	Bytes   []byte        `json:"bytes"`
}

var errSealing = errors.New("the command line encrypts nothing")

// Growth implements codec.Codec.
func (*decoder) Growth() int { return 0 }

// Seal implements codec.Codec. It is never called.
func (*decoder) Seal(context.Context, []codec.Plain) ([]codec.Sealed, error) { return nil, errSealing }

// Open implements codec.Codec. The command prints a JSON string with the value in base 64 for each item, or null if it has no key.
func (d *decoder) Open(ctx context.Context, items []codec.Sealed) ([]codec.Plain, error) {
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
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return nil, fmt.Errorf("decoding: %w", ctx.Err())
	case ctx.Err() != nil:
		return nil, d.fail("has not ended in time", printed, stderr.String())
	case err != nil:
		return nil, d.fail("failed with "+err.Error(), printed, stderr.String())
	}
	answers, out := json.NewDecoder(bytes.NewReader(printed)), make([]codec.Plain, len(items))
	for i := range items {
		var value *[]byte
		if err := answers.Decode(&value); err != nil {
			return nil, d.fail(fmt.Sprintf("printed %d of %d values (%v)", i, len(items), err), printed, stderr.String())
		}
		if value == nil {
			return nil, fmt.Errorf("%w: command %q has no value for key %q", codec.ErrNoKey, d.command, items[i].KeyID)
		}
		out[i] = codec.Plain{Purpose: items[i].Purpose, Bytes: *value}
	}
	return out, nil
}
