package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// readText returns the given text, the content of the file after an @, or standard input for a single -.
func readText(cmd *cobra.Command, what, given string) ([]byte, error) {
	var data []byte
	var err error
	switch {
	case given == "":
		return nil, badUsage("%s is empty: give JSON, or leave it out", what)
	case given == "-":
		data, err = readAll(cmd.InOrStdin())
	case given == "@":
		return nil, badUsage("%s is @ without a file: give its name, as in @order.json", what)
	case strings.HasPrefix(given, "@"):
		data, err = readFile(given[1:])
	default:
		data = []byte(given)
	}
	if err != nil {
		return nil, badUsage("reading %s: %w", what, err)
	}
	return data, nil
}

// maxInput is the maximum number of bytes to read. Payloads are much smaller, even with generous white space.
const maxInput = 16 << 20

func readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if len(data) > maxInput {
		return nil, fmt.Errorf("more than %d bytes: store the data elsewhere and pass a reference", maxInput)
	}
	return data, err
}

func readFile(path string) (data []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return readAll(f)
}

// readJSON returns readText of one JSON value, which is stored unchanged.
func readJSON(cmd *cobra.Command, what, given string) (json.RawMessage, error) {
	data, err := readText(cmd, what, given)
	if err != nil {
		return nil, err
	}
	var value json.RawMessage
	if err := json.Unmarshal(data, &value); err != nil {
		at := ""
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = fmt.Sprintf(" at byte %d", syntax.Offset)
		}
		return nil, badUsage("%s is not valid JSON%s: %w; a string needs quotes, as in '\"text\"'", what, at, err)
	}
	return value, nil
}

// inputFlag returns the value of the flag --input, and null without it.
func inputFlag(cmd *cobra.Command, given string) (json.RawMessage, error) {
	if !cmd.Flags().Changed("input") {
		return json.RawMessage("null"), nil
	}
	return readJSON(cmd, "input", given)
}
