package churn

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// Log is the path of a file to which the activities of all workers append. Each line is one write. So lines from all
// processes are in the order of what happened, and a kill truncates at most one line.
type Log string

// The values of Line.What.
const (
	Began   = "began"
	Done    = "done"
	Failed  = "failed"  // with an error of its own
	Stopped = "stopped" // by cancellation
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
	// The leading line feed ends a truncated line.
	_, err = f.Write(append(append([]byte{'\n'}, data...), '\n'))
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("log of activities: %w", err)
	}
	return nil
}

// Read returns all lines in order, and how many were truncated.
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
