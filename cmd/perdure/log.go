package main

import (
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/rs/zerolog"
)

// configureLogs sets zerolog's global options.
func configureLogs() { zerolog.DurationFieldFormat = zerolog.DurationFormatString }

// newLogger returns a slog logger that writes each record as one readable line with zerolog.
func newLogger(w io.Writer, level string) (*slog.Logger, error) {
	known := map[string]zerolog.Level{
		"debug": zerolog.DebugLevel, "info": zerolog.InfoLevel, "warn": zerolog.WarnLevel, "error": zerolog.ErrorLevel,
	}
	least, ok := known[level]
	if !ok {
		return nil, fmt.Errorf("flag --log-level is %q: it must be debug, info, warn or error", level)
	}
	console := zerolog.ConsoleWriter{Out: w, TimeFormat: time.RFC3339Nano, NoColor: true}
	return slog.New(zerolog.NewSlogHandler(zerolog.New(console).Level(least))), nil
}
