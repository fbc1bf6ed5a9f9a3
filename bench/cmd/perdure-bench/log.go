package main

import (
	"io"
	"log/slog"

	"github.com/rs/zerolog"
)

// configureLogs sets zerolog's global options.
func configureLogs() { zerolog.DurationFieldFormat = zerolog.DurationFormatString }

// newLogger returns a logger that writes each record as one readable line.
func newLogger(w io.Writer, level string) (*slog.Logger, error) {
	least, err := zerolog.ParseLevel(level)
	if err != nil || least < zerolog.DebugLevel || least > zerolog.ErrorLevel {
		return nil, badUsage("flag --log-level is %q: it must be debug, info, warn or error", level)
	}
	return slog.New(zerolog.NewSlogHandler(zerolog.New(zerolog.ConsoleWriter{Out: w, NoColor: true}).Level(least))), nil
}
