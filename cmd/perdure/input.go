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

// readText answers what the user gave: the text itself, the file after an @, or standard
// input for a single -.
func readText(cmd *cobra.Command, what, given string) ([]byte, error) {
	var data []byte
	var err error
	switch {
	case given == "-":
		data, err = io.ReadAll(cmd.InOrStdin())
	case strings.HasPrefix(given, "@"):
		data, err = os.ReadFile(given[1:])
	default:
		data = []byte(given)
	}
	if err != nil {
		return nil, badUsage("reading %s: %w", what, err)
	}
	return data, nil
}

// readJSON is readText of one JSON value, which goes to the store as it is.
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
		return nil, badUsage("%s is not valid JSON%s: %w; a text needs quotes, as in '\"text\"'", what, at, err)
	}
	return value, nil
}
