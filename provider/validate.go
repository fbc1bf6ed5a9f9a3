package provider

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// A checker keeps the first fault of a request. After that its methods do nothing, so that
// checks read as a list. On success it allocates nothing.
type checker struct{ err error }

// shown is how many bytes of a bad value an error repeats.
const shown = 40

func shorten(s string) string {
	if len(s) <= shown {
		return s
	}
	return s[:shown] + "..."
}

func (c *checker) failf(sentinel error, field, format string, args ...any) {
	c.err = fmt.Errorf("%s: %w: %s", field, sentinel, fmt.Sprintf(format, args...))
}

// name checks a required ID, name or key.
func (c *checker) name(field, s string) {
	if c.err == nil && s == "" {
		c.failf(ErrInvalid, field, "is empty: give 1 to %d bytes of UTF-8", MaxName)
	}
	c.text(field, s)
}

// text checks an ID, name or key that may be empty.
func (c *checker) text(field, s string) {
	switch {
	case c.err != nil:
	case len(s) > MaxName:
		c.failf(ErrInvalid, field, "%q has %d bytes: shorten it to %d", shorten(s), len(s), MaxName)
	case !utf8.ValidString(s):
		c.failf(ErrInvalid, field, "%q is not valid UTF-8: encode it, as hex for example", shorten(s))
	case strings.IndexByte(s, 0) >= 0:
		c.failf(ErrInvalid, field, "%q has a NUL byte: take it out", shorten(s))
	}
}

// uuid checks a UUID that must not be zero.
func (c *checker) uuid(field string, u UUID) {
	if c.err == nil && u.IsZero() {
		c.failf(ErrInvalid, field, "is the zero UUID: make one")
	}
}

// target checks that an instance is named, by key or by ID.
func (c *checker) target(id string, key UUID) {
	switch {
	case c.err != nil || !key.IsZero():
	case id == "":
		c.failf(ErrInvalid, "ID", "is empty and Key is zero: name the instance by one of them")
	default:
		c.text("ID", id)
	}
}

func (c *checker) payload(field string, b []byte) {
	if c.err == nil && len(b) > MaxPayload {
		c.failf(ErrTooLarge, field, "has %d bytes: at most %d fit; store the data elsewhere and pass a reference", len(b), MaxPayload)
	}
}

// least checks a number against its lower bound.
func (c *checker) least(field string, n, low int64) {
	if c.err == nil && n < low {
		c.failf(ErrInvalid, field, "is %d: give %d or more", n, low)
	}
}

// count checks the length of a list.
func (c *checker) count(field string, n, limit int) {
	if c.err == nil && n > limit {
		c.failf(ErrTooLarge, field, "has %d items: at most %d; split the request", n, limit)
	}
}

// rows checks how many rows a caller asks for.
func (c *checker) rows(field string, n, low, limit int) {
	c.least(field, int64(n), int64(low))
	if c.err == nil && n > limit {
		c.failf(ErrTooLarge, field, "is %d: ask for at most %d", n, limit)
	}
}

// delay checks a duration that may be zero.
func (c *checker) delay(field string, d time.Duration) {
	if c.err == nil && d < 0 {
		c.failf(ErrInvalid, field, "is %v: a delay is zero or more", d)
	}
}

// lease checks the length of a lease.
func (c *checker) lease(field string, d time.Duration) {
	switch {
	case c.err != nil:
	case d <= 0:
		c.failf(ErrInvalid, field, "is %v: a lease is longer than zero", d)
	case d > MaxLease:
		c.failf(ErrTooLarge, field, "is %v: a lease is at most %v; renew it instead", d, MaxLease)
	}
}

// sub records the fault of a part of the request.
func (c *checker) sub(field string, err error) {
	if c.err == nil && err != nil {
		c.err = fmt.Errorf("%s: %w", field, err)
	}
}

// item records the fault of one item of a list.
func (c *checker) item(field string, i int, err error) {
	if c.err == nil && err != nil {
		c.err = fmt.Errorf("%s[%d]: %w", field, i, err)
	}
}

// distinct checks that the event IDs of a list are positive and differ. Engines pass them
// in rising order, which needs no copy to check.
func (c *checker) distinct(field string, n int, id func(i int) int64) {
	if c.err != nil {
		return
	}
	rising := true
	for i := range n {
		if id(i) < 1 {
			c.failf(ErrInvalid, fmt.Sprintf("%s[%d]", field, i), "has the ID %d: give 1 or more", id(i))
			return
		}
		rising = rising && (i == 0 || id(i-1) < id(i))
	}
	if rising {
		return
	}
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = id(i)
	}
	slices.Sort(ids)
	for i := 1; i < n; i++ {
		if ids[i-1] == ids[i] {
			c.failf(ErrInvalid, field, "names ID %d twice: name each once", ids[i])
			return
		}
	}
}

// done returns the fault, if any, with the name of the method.
func (c *checker) done(method string) error {
	if c.err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", method, c.err)
}
