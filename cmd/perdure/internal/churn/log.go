package churn

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// Log is the path of a file to which the activities of all workers append. A line is one
// write, so that lines stand in the order in which things happened, whichever process wrote
// them, and a kill cuts at most one line short.
type Log string

// What a line tells of a body.
const (
	Began   = "began"
	Done    = "done"
	Failed  = "failed"  // by itself
	Stopped = "stopped" // because it was told to
)

// Line is a moment in the life of an attempt.
type Line struct {
	Call     string `json:"call"` // the activity's idempotency key: instance key, execution and event
	Attempt  int    `json:"attempt"`
	Delivery int    `json:"delivery"`
	What     string `json:"what"`
	PID      int    `json:"pid"`
}

func (l Log) add(line Line, what string) error {
	line.What, line.PID = what, os.Getpid()
	data, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("log of activities: %w", err)
	}
	f, err := os.OpenFile(string(l), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("log of activities: %w", err)
	}
	// It begins a line of its own, whatever is left of one that was cut short.
	_, err = f.Write(append(append([]byte{'\n'}, data...), '\n'))
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("log of activities: %w", err)
	}
	return nil
}

// Read answers all lines in order, and how many were cut short.
func (l Log) Read() (lines []Line, cut int, err error) {
	f, err := os.Open(string(l))
	if err != nil {
		return nil, 0, fmt.Errorf("log of activities: %w", err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	scanner := bufio.NewScanner(f)
	for scanner.Scan() {
		var line Line
		switch data := bytes.TrimSpace(scanner.Bytes()); {
		case len(data) == 0:
		case json.Unmarshal(data, &line) != nil:
			cut++
		default:
			lines = append(lines, line)
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, 0, fmt.Errorf("log of activities: %w", err)
	}
	return lines, cut, nil
}
