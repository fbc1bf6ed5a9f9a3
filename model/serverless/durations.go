package serverless

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// maxDuration is that of timers.
const maxDuration = 100 * 365 * 24 * time.Hour

var isoDuration = regexp.MustCompile(`^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,9}))?S)?)?$`)

// parseDuration reads a duration of ISO 8601 of weeks, days, hours, minutes and seconds. Years and months have no fixed length.
func parseDuration(text string) (time.Duration, error) {
	parts := isoDuration.FindStringSubmatch(text)
	if parts == nil || text == "P" || strings.HasSuffix(text, "T") {
		return 0, fmt.Errorf("%q is no duration: write P2DT3H4M5.5S, without years and months", text)
	}
	var sum float64
	for i, unit := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour, time.Hour, time.Minute, time.Second} {
		if n, err := strconv.ParseFloat(parts[i+1], 64); err == nil {
			sum += n * float64(unit)
		}
	}
	if sum > float64(maxDuration) {
		return 0, fmt.Errorf("the duration %q is longer than 100 years", text)
	}
	d := time.Duration(sum)
	if fraction := parts[6]; fraction != "" {
		nanos, _ := strconv.Atoi((fraction + "000000000")[:9])
		d += time.Duration(nanos)
	}
	return d, nil
}

// duration reads an object of days, hours, minutes, seconds and milliseconds, a text of ISO 8601, or an expression.
func (r *reader) duration(n *yaml.Node, ref string, names []string) *duration {
	if n == nil {
		return nil
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		if _, ok := unwrap(n.Value); ok {
			if names == nil {
				r.failf(n, ref, "an expression stands here: a fixed duration is needed")
				return nil
			}
			return &duration{expr: r.expression(n, ref, names), ref: ref}
		}
		d, err := parseDuration(n.Value)
		if err != nil {
			r.failf(n, ref, "%v", err)
		}
		return &duration{fixed: d, ref: ref}
	}
	o := r.object(n, ref)
	if o == nil {
		return nil
	}
	var sum float64
	for _, part := range []struct {
		key  string
		unit time.Duration
	}{{"days", 24 * time.Hour}, {"hours", time.Hour}, {"minutes", time.Minute}, {"seconds", time.Second}, {"milliseconds", time.Millisecond}} {
		sum += float64(r.count(o.get(part.key), o.at(part.key))) * float64(part.unit)
	}
	o.done(nil)
	if len(o.keys) == 0 {
		r.failf(n, ref, "the duration is empty: name days, hours, minutes, seconds or milliseconds")
	}
	if sum > float64(maxDuration) {
		r.failf(n, ref, "the duration is longer than 100 years")
		sum = 0
	}
	return &duration{fixed: time.Duration(sum), ref: ref}
}

// evaluate returns the duration.
func (d *duration) evaluate(input any, vars variables) (time.Duration, error) {
	if d.expr == nil {
		return d.fixed, nil
	}
	v, err := d.expr.evaluate(input, vars)
	if err != nil {
		return 0, err
	}
	text, ok := v.(string)
	if !ok {
		return 0, fmt.Errorf("the result is no text with a duration of ISO 8601")
	}
	return parseDuration(text)
}
