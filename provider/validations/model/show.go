package model

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/perdure/perdure/provider"
)

// A sheet is a request or a result as text. Without explain the instants are kept apart from the text.
type sheet struct {
	text    strings.Builder
	times   []provider.Time
	explain func(provider.Time) string
}

// show writes v without its zero fields.
func show(v any, explain func(provider.Time) string) *sheet {
	s := &sheet{explain: explain}
	s.value(reflect.ValueOf(v))
	return s
}

func (s *sheet) value(v reflect.Value) {
	switch x := v.Interface().(type) {
	case provider.Time:
		s.time(x)
		return
	case provider.UUID:
		s.text.WriteString(uuidName(x))
		return
	case time.Duration:
		s.text.WriteString(durationName(x))
		return
	case []byte:
		fmt.Fprintf(&s.text, "%q", x)
		return
	case error:
		s.text.WriteString(errorName(x))
		return
	case fmt.Stringer:
		s.text.WriteString(x.String())
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		s.text.WriteByte('{')
		s.fields(v, true)
		s.text.WriteByte('}')
	case reflect.Slice:
		s.text.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				s.text.WriteByte(' ')
			}
			s.value(v.Index(i))
		}
		s.text.WriteByte(']')
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			s.text.WriteByte('-')
		} else {
			s.value(v.Elem())
		}
	case reflect.String:
		fmt.Fprintf(&s.text, "%q", v.String())
	default:
		fmt.Fprint(&s.text, v.Interface())
	}
}

// fields writes the fields of a struct that are not empty.
func (s *sheet) fields(v reflect.Value, first bool) bool {
	for i := range v.NumField() {
		f := v.Field(i)
		if f.IsZero() || f.Kind() == reflect.Slice && f.Len() == 0 && f.Type() != reflect.TypeFor[[]byte]() {
			continue
		}
		if f.Kind() == reflect.Slice && f.Len() == 0 && s.explain == nil { // stores may return nil for an empty payload
			continue
		}
		if v.Type().Field(i).Anonymous {
			first = s.fields(f, first)
			continue
		}
		if !first {
			s.text.WriteByte(' ')
		}
		first = false
		s.text.WriteString(v.Type().Field(i).Name + "=")
		s.value(f)
	}
	return first
}

func (s *sheet) time(t provider.Time) {
	if s.explain != nil {
		s.text.WriteString(s.explain(t))
		return
	}
	s.text.WriteByte('T')
	s.times = append(s.times, t)
}

// named makes a UUID that shows as its kind and number.
func named(kind byte, n int) provider.UUID {
	return provider.UUID{kind, 14: byte(n >> 8), 15: byte(n)}
}

func uuidName(u provider.UUID) string {
	if n := int(u[14])<<8 + int(u[15]); u == named(u[0], n) && u[0] > ' ' && u[0] < 127 {
		return fmt.Sprintf("%c%d", u[0], n)
	}
	return "other"
}

func durationName(d time.Duration) string {
	switch d {
	case short:
		return "short"
	case long:
		return "long"
	case -long:
		return "-long"
	default:
		return d.String()
	}
}

// errorName names the sentinel of err and the details that a caller can read from it.
func errorName(err error) string {
	if exists, ok := errors.AsType[*provider.ExistsError](err); ok {
		return fmt.Sprintf("ErrExists(%q %s %s)", exists.ID, uuidName(exists.Key), exists.Status)
	}
	for _, s := range []error{
		provider.ErrConflict, provider.ErrLeaseLost, provider.ErrInboxNotEmpty, provider.ErrInboxFull, provider.ErrNotFound,
		provider.ErrExists, provider.ErrEnded, provider.ErrRunning, provider.ErrNoAnswer, provider.ErrInvalid, provider.ErrTooLarge,
		provider.ErrClosed, context.Canceled,
	} {
		if errors.Is(err, s) {
			return s.Error()
		}
	}
	return "unexpected error: " + err.Error()
}
