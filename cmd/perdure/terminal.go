package main

import (
	"io"
	"io/fs"
	"os"
)

// isTerminal reports whether a stream of the process is a terminal. It takes any other character device for one, except os.DevNull.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	if err != nil || info.Mode()&fs.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// onTerminal reports whether a stream is a terminal. Tests replace the check.
func (a *app) onTerminal(stream any) bool {
	if a.terminal != nil {
		return a.terminal(stream)
	}
	return isTerminal(stream)
}

// readLine reads up to a line feed, and no byte more. It returns what it has at the end of the input.
func readLine(r io.Reader) (string, error) {
	var line []byte
	next := make([]byte, 1)
	for {
		n, err := r.Read(next)
		switch {
		case n > 0 && next[0] == '\n':
			return string(line), nil
		case n > 0:
			line = append(line, next[0])
		case err == io.EOF:
			return string(line), nil
		case err != nil:
			return "", err
		}
	}
}
