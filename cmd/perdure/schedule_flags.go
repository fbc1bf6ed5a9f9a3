package main

import (
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // for machines without the database of time zones

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
)

// specFlags are the flags of a schedule's specification.
type specFlags struct {
	crons, every, at, except   []string
	zone, from, until, overlap string
	jitter, window             time.Duration
	running, most, pause       int
	limit                      int
	noCatchUp                  bool
}

func (f *specFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.crons, "cron", nil, "cron expression, such as '30 2 * * MON-FRI'; repeatable")
	flags.StringArrayVar(&f.every, "every", nil, "interval such as 15m, or 15m+30s with an offset; repeatable")
	flags.StringArrayVar(&f.at, "at", nil, "fixed time such as 2026-11-24T02:30:00Z; repeatable")
	flags.StringArrayVar(&f.except, "except", nil, "cron expression of times to leave out; repeatable")
	flags.StringVar(&f.zone, "zone", "", "time zone of the cron expressions, such as Europe/Berlin (default: UTC)")
	flags.StringVar(&f.from, "from", "", "no due time is earlier than this time")
	flags.StringVar(&f.until, "until", "", "no due time is later than this time")
	flags.DurationVar(&f.jitter, "jitter", 0, "delay each run by up to this much")
	flags.StringVar(&f.overlap, "overlap", "", "while a run goes on: skip, buffer-one, cancel-other or allow-all (default: skip)")
	flags.IntVar(&f.running, "max-running", 0, "runs at a time with --overlap allow-all (0: 10)")
	flags.DurationVar(&f.window, "catch-up-window", 0, "how late a missed due time may start (0: 24h)")
	flags.IntVar(&f.most, "catch-up-max", 0, "how many missed due times start, the latest ones (0: 1)")
	flags.BoolVar(&f.noCatchUp, "no-catch-up", false, "skip all missed due times")
	flags.IntVar(&f.pause, "pause-after-failures", 0, "pause when that many runs in a row have failed (default: never)")
	flags.IntVar(&f.limit, "runs", 0, "stop after that many starts (default: never)")
}

// flagsOfSpec are the names of the flags.
//
//nolint:gochecknoglobals // constant table
var flagsOfSpec = []string{
	"cron", "every", "at", "except", "zone", "from", "until", "jitter", "overlap", "max-running", "catch-up-window", "catch-up-max", "no-catch-up",
	"pause-after-failures", "runs",
}

// given reports whether any of the flags is.
func (f *specFlags) given(cmd *cobra.Command) bool {
	return slices.ContainsFunc(flagsOfSpec, cmd.Flags().Changed)
}

// apply changes what the flags name.
func (f *specFlags) apply(cmd *cobra.Command, spec *client.ScheduleSpec) (err error) {
	changed := cmd.Flags().Changed
	if changed("cron") {
		spec.Crons = texts(f.crons)
	}
	if changed("except") {
		spec.Except = texts(f.except)
	}
	if changed("every") {
		spec.Every = nil
		for _, text := range texts(f.every) {
			i, err := parseInterval(text)
			if err != nil {
				return err
			}
			spec.Every = append(spec.Every, i)
		}
	}
	if changed("at") {
		spec.At = nil
		for _, text := range texts(f.at) {
			at, err := parseTime("flag --at", text)
			if err != nil {
				return err
			}
			spec.At = append(spec.At, at)
		}
	}
	for _, b := range []struct {
		flag, text string
		to         *time.Time
	}{{"from", f.from, &spec.From}, {"until", f.until, &spec.Until}} {
		if !changed(b.flag) {
			continue
		}
		if *b.to = (time.Time{}); b.text != "" {
			if *b.to, err = parseTime("flag --"+b.flag, b.text); err != nil {
				return err
			}
		}
	}
	f.applyRest(changed, spec)
	return nil
}

// applyRest changes what needs no parsing.
func (f *specFlags) applyRest(changed func(string) bool, spec *client.ScheduleSpec) {
	for flag, set := range map[string]func(){
		"zone":                 func() { spec.Zone = f.zone },
		"jitter":               func() { spec.Jitter = f.jitter },
		"overlap":              func() { spec.Overlap = client.ScheduleOverlap(f.overlap) },
		"max-running":          func() { spec.MaxRunning = f.running },
		"catch-up-window":      func() { spec.CatchUp.Window = f.window },
		"catch-up-max":         func() { spec.CatchUp.Max = f.most },
		"pause-after-failures": func() { spec.PauseAfterFailures = f.pause },
		"runs":                 func() { spec.Limit = f.limit },
	} {
		if changed(flag) {
			set()
		}
	}
	if f.noCatchUp {
		spec.CatchUp = client.NoCatchUp()
	}
}

// texts leaves out empty values, which empty a list.
func texts(given []string) []string {
	return slices.DeleteFunc(slices.Clone(given), func(s string) bool { return s == "" })
}

// parseInterval reads 15m and 15m+30s.
func parseInterval(text string) (i client.ScheduleInterval, err error) {
	every, offset, ok := strings.Cut(text, "+")
	i.Every, err = time.ParseDuration(every)
	if err == nil && ok {
		i.Offset, err = time.ParseDuration(offset)
	}
	if err != nil {
		return i, badUsage("flag --every is %q: it must be a duration such as 15m, or 15m+30s with an offset", text)
	}
	return i, nil
}

func parseTime(what, text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, badUsage("%s is %q: it must be a time such as 2026-11-24T02:30:00Z", what, text)
	}
	return at.UTC(), nil
}
