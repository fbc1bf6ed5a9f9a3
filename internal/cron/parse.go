package cron

import (
	"errors"
	"fmt"
	"strings"
)

// maxText bounds the text of an expression in bytes.
const maxText = 256

// Expr is a cron expression. The zero Expr names no moment. It never changes, so many goroutines may use it at once.
type Expr struct {
	text                 string
	second, minute, hour field
	day, month, weekday  field
	lastDay              uint64 // bit n: the day n days before the last one of the month
	nthWeekday           [7]uint8
	rhythm               bool // minute or hour is a wildcard, range or step
	seconds              bool // there is a field for seconds
	bothDays             bool // a day must match both day fields
}

// lastOfMonth is the bit in Expr.nthWeekday for the last one of the month; bits 1 to 5 are for the first to the fifth.
const lastOfMonth = 7

//nolint:gochecknoglobals // constant table
var macros = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// Parse reads an expression, or one of @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly. Its time is bounded for any
// text. It refuses a text that names no day at all, such as 31 February.
func Parse(text string) (*Expr, error) {
	e, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("cron expression %s: %w", quote(text), err)
	}
	return e, nil
}

func parse(text string) (*Expr, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("it has %d bytes: shorten it to %d, or give several expressions", len(text), maxText)
	}
	if strings.Contains(text, "TZ=") {
		return nil, errors.New("a time zone is in it: give the zone in the field for it")
	}
	fields := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\t' })
	e := &Expr{text: strings.Join(fields, " ")}
	if strings.HasPrefix(e.text, "@") {
		plain, ok := macros[strings.ToLower(e.text)]
		if !ok {
			return nil, errors.New("unknown name: give @yearly, @monthly, @weekly, @daily or @hourly, an expression of five fields, or an interval")
		}
		fields = strings.Fields(plain)
	}
	switch len(fields) {
	case 5:
		fields = append([]string{"0"}, fields...)
	case 6:
		e.seconds = true
	default:
		return nil, fmt.Errorf("it has %d fields: give minute, hour, day, month and weekday, with the second in front if needed", len(fields))
	}
	return e, e.read(fields)
}

// read parses the six fields.
func (e *Expr) read(fields []string) error {
	for i, f := range []struct {
		to      *field
		kind    *kind
		special func(string) (bool, error)
	}{
		{&e.second, &seconds, nil},
		{&e.minute, &minutes, nil},
		{&e.hour, &hours, nil},
		{&e.day, &days, e.specialDay},
		{&e.month, &months, nil},
		{&e.weekday, &weekdays, e.specialWeekday},
	} {
		var err error
		if *f.to, err = f.kind.parse(fields[i], f.special); err != nil {
			return err
		}
	}
	if e.weekday.has(7) {
		e.weekday.values |= 1
	}
	e.rhythm = e.minute.spread || e.hour.spread
	e.bothDays = e.day.every || e.weekday.every
	if !e.comes() {
		return errors.New("no day of any year matches: correct the day or the month")
	}
	return nil
}

// specialDay reads L and L-n: the last day of the month, and the day n days before it.
func (e *Expr) specialDay(item string) (bool, error) {
	rest, ok := cutFold(item, "L")
	if !ok {
		if strings.ContainsAny(item, "wW") {
			return false, errors.New("the nearest weekday (W) is not supported: name the days")
		}
		return false, nil
	}
	before := 0
	if rest != "" {
		digits, dash := strings.CutPrefix(rest, "-")
		var err error
		if before, err = number(digits); !dash || err != nil || before > 30 {
			return false, fmt.Errorf("%q: give L, or L-1 to L-30", item)
		}
	}
	e.lastDay |= 1 << before
	return true, nil
}

// specialWeekday reads 5L or FRIL, the last Friday of the month, and 5#3 or FRI#3, the third.
func (e *Expr) specialWeekday(item string) (bool, error) {
	var name string
	nth := lastOfMonth
	if before, after, ok := strings.Cut(item, "#"); ok {
		n, err := number(after)
		if err != nil || n < 1 || n > 5 {
			return false, fmt.Errorf("%q: give #1 to #5", item)
		}
		name, nth = before, n
	} else if n := len(item) - 1; n >= 0 && (item[n] == 'L' || item[n] == 'l') {
		name = item[:n]
	} else {
		return false, nil
	}
	day, err := weekdays.value(name)
	if err != nil {
		return false, err
	}
	e.nthWeekday[day%7] |= 1 << nth
	return true, nil
}

func cutFold(s, prefix string) (rest string, ok bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// String returns the expression as it was written, with single spaces.
func (e *Expr) String() string { return e.text }

// quote shows a text of any length in an error.
func quote(text string) string {
	if len(text) > 40 {
		return fmt.Sprintf("%q...", text[:40])
	}
	return fmt.Sprintf("%q", text)
}
