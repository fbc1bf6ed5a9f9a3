package dashboard

import (
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure/client"
)

// specFields are the fields of a schedule's specification.
func specFields() []field {
	overlaps := []string{
		string(client.OverlapSkip), string(client.OverlapBufferOne), string(client.OverlapCancelOther), string(client.OverlapAllowAll),
	}
	return []field{
		{name: "crons", kind: aList, label: "Crons", help: "One a line, such as 0 9 * * mon-fri."},
		{name: "every", kind: aList, label: "Intervals", help: "One a line, such as 15m, or 15m+30s with an offset."},
		{name: "at", kind: aList, label: "Fixed times", help: "One a line, such as 2026-01-02T03:04:05Z."},
		{name: "except", kind: aList, label: "Except", help: "Crons of times that are left out, one a line."},
		{name: "zone", label: "Time zone", help: "Such as Europe/Berlin. Empty: UTC."},
		{name: "from", kind: aTime, label: "From (UTC)"},
		{name: "until", kind: aTime, label: "Until (UTC)"},
		{name: "jitter", kind: aSpan, label: "Jitter", help: "Each run is delayed by up to this much, such as 30s."},
		{name: "overlap", kind: aValue, label: "While a run goes on", choices: overlaps, value: string(client.OverlapSkip)},
		{name: "maxRunning", kind: anInt, label: "Runs at a time", help: "With allow-all. Empty: 10."},
		{name: "catchUpWindow", kind: aSpan, label: "How late a missed run may start", help: "Empty: 24h."},
		{name: "catchUpMax", kind: anInt, label: "How many missed runs start", help: "The latest ones. Empty: 1."},
		{name: "noCatchUp", kind: aBool, label: "Skip all runs that were missed"},
		{name: "pauseAfterFailures", kind: anInt, label: "Pause after so many failures in a row", help: "Empty: never."},
		{name: "limit", kind: anInt, label: "Stop after so many runs", help: "Empty: never."},
	}
}

// applySpec changes what the fields name. A form names all fields, and a program those that it gives.
func (in input) applySpec(spec *client.ScheduleSpec) (err error) {
	given := func(name string, set func()) {
		if _, ok := in[name]; ok {
			set()
		}
	}
	given("crons", func() { spec.Crons = in.list("crons") })
	given("except", func() { spec.Except = in.list("except") })
	given("zone", func() { spec.Zone = in["zone"] })
	given("from", func() { spec.From = in.time("from") })
	given("until", func() { spec.Until = in.time("until") })
	given("jitter", func() { spec.Jitter = in.span("jitter") })
	given("overlap", func() { spec.Overlap = client.ScheduleOverlap(in["overlap"]) })
	given("maxRunning", func() { spec.MaxRunning = int(in.int("maxRunning")) })
	given("catchUpWindow", func() { spec.CatchUp.Window = in.span("catchUpWindow") })
	given("catchUpMax", func() { spec.CatchUp.Max = int(in.int("catchUpMax")) })
	given("pauseAfterFailures", func() { spec.PauseAfterFailures = int(in.int("pauseAfterFailures")) })
	given("limit", func() { spec.Limit = int(in.int("limit")) })
	if in.bool("noCatchUp") {
		spec.CatchUp = client.NoCatchUp()
	}
	given("every", func() {
		spec.Every = nil
		for _, text := range in.list("every") {
			every, failed := parseInterval(text)
			if failed != nil {
				err = failed
			}
			spec.Every = append(spec.Every, every)
		}
	})
	given("at", func() {
		spec.At = nil
		for _, text := range in.list("at") {
			at, failed := parseTime(text)
			if failed != nil {
				err = badInput("at has %q: give a time such as 2026-01-02T03:04:05Z", text)
			}
			spec.At = append(spec.At, at)
		}
	})
	return err
}

// parseInterval reads 15m and 15m+30s.
func parseInterval(text string) (i client.ScheduleInterval, err error) {
	every, offset, found := strings.Cut(text, "+")
	i.Every, err = time.ParseDuration(every)
	if err == nil && found {
		i.Offset, err = time.ParseDuration(offset)
	}
	if err != nil {
		return i, badInput("every has %q: give a duration such as 90s or 1h30m, or 15m+30s with an offset", text)
	}
	return i, nil
}

// specInput returns a specification as the fields of a form have it.
func specInput(spec *client.ScheduleSpec) input {
	in := input{"crons": strings.Join(spec.Crons, "\n"), "except": strings.Join(spec.Except, "\n"), "zone": spec.Zone, "overlap": string(spec.Overlap)}
	for _, i := range spec.Every {
		text := i.Every.String()
		if i.Offset != 0 {
			text += "+" + i.Offset.String()
		}
		in["every"] += text + "\n"
	}
	for _, at := range spec.At {
		in["at"] += at.UTC().Format(time.RFC3339) + "\n"
	}
	for name, at := range map[string]time.Time{"from": spec.From, "until": spec.Until} {
		if !at.IsZero() {
			in[name] = at.UTC().Format(time.RFC3339)
		}
	}
	for name, n := range map[string]int{
		"maxRunning": spec.MaxRunning, "catchUpMax": spec.CatchUp.Max, "pauseAfterFailures": spec.PauseAfterFailures, "limit": spec.Limit,
	} {
		if n != 0 {
			in[name] = strconv.Itoa(n)
		}
	}
	if spec.CatchUp == client.NoCatchUp() {
		in["noCatchUp"] = "true"
	} else if spec.CatchUp.Window != 0 {
		in["catchUpWindow"] = spec.CatchUp.Window.String()
	}
	if spec.Jitter != 0 {
		in["jitter"] = spec.Jitter.String()
	}
	return in
}

// maxTimes is how many due times a preview shows at most.
const maxTimes = 1000

// dueTimes are due times of a specification, without its jitter.
type dueTimes struct {
	Items []time.Time `json:"items"`
}

// nextTimes returns the next due times of the specification in the fields.
func (in input) nextTimes(after time.Time, n int) (dueTimes, error) {
	var spec client.ScheduleSpec
	err := in.applySpec(&spec)
	if err != nil {
		return dueTimes{}, err
	}
	times, err := client.NextTimes(spec, after, n)
	return dueTimes{times}, err
}

// now returns the time by the clock of the store, by which schedules run, or by that of this process if the store cannot tell.
func (c *call) now() time.Time {
	if now, err := c.s.client.Now(c.r.Context()); err == nil {
		return now
	}
	return time.Now()
}

// apiNext previews the due times of a specification.
func (c *call) apiNext() error {
	in, err := c.readQuery(specFields(), "after", "n")
	if err != nil {
		return err
	}
	after, err := c.timeParam("after")
	if err != nil {
		return err
	}
	if after.IsZero() {
		after = c.now()
	}
	n, err := c.intParam("n")
	if err != nil {
		return err
	}
	if n == 0 {
		n = 10
	}
	if n < 1 || n > maxTimes {
		return badInput("parameter n is %d: give 1 to %d", n, maxTimes)
	}
	times, err := in.nextTimes(after, int(n))
	if err != nil {
		return err
	}
	return c.answer(times)
}
