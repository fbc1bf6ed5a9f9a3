package validations

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/perdure/perdure/provider"
)

// shown formats a value of the contract for a reader: fields that are not zero, keys shortened, payloads as text, errors by the
// name of their sentinel. Verbs other than v and s format the value itself.
type shown struct{ value any }

// Format implements [fmt.Formatter].
func (s shown) Format(f fmt.State, verb rune) {
	if verb != 'v' && verb != 's' {
		_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), s.value)
		return
	}
	_, _ = fmt.Fprint(f, describe(s.value, false))
}

// readable prepares the arguments of a failure.
func readable(args []any) []any {
	list := make([]any, len(args))
	for n, arg := range args {
		switch arg.(type) {
		case nil, string, bool, int, int64, fmt.Formatter:
			list[n] = arg
		default:
			list[n] = shown{arg}
		}
	}
	return list
}

// describe returns a value as text. With full nothing is shortened, so that two values with the same text are equal.
func describe(v any, full bool) string {
	p := printer{full: full}
	p.value(reflect.ValueOf(v))
	return p.text.String()
}

type printer struct {
	text strings.Builder
	full bool
}

func (p *printer) value(v reflect.Value) {
	if !v.IsValid() {
		p.text.WriteString("none")
		return
	}
	if v.CanInterface() && p.known(v.Interface()) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		p.text.WriteByte('{')
		p.fields(v, true)
		p.text.WriteByte('}')
	case reflect.Slice, reflect.Array:
		p.text.WriteByte('[')
		for n := range v.Len() {
			if n > 0 {
				p.text.WriteByte(' ')
			}
			p.value(v.Index(n))
		}
		p.text.WriteByte(']')
	case reflect.Map:
		p.entries(v)
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			p.text.WriteString("none")
		} else {
			p.value(v.Elem())
		}
	case reflect.String:
		fmt.Fprintf(&p.text, "%q", v.String())
	default:
		fmt.Fprintf(&p.text, "%v", v)
	}
}

// known writes a value of a type that has a form of its own.
func (p *printer) known(v any) bool {
	switch x := v.(type) {
	case error:
		p.text.WriteString(errorText(x))
	case provider.UUID:
		p.text.WriteString(p.key(x))
	case []byte:
		p.text.WriteString(p.payload(x))
	case fmt.Stringer:
		if r := reflect.ValueOf(v); r.Kind() == reflect.Pointer && r.IsNil() {
			return false
		}
		p.text.WriteString(x.String())
	default:
		return false
	}
	return true
}

// fields writes the fields of a struct that are not zero.
func (p *printer) fields(v reflect.Value, first bool) bool {
	for n := range v.NumField() {
		field := v.Field(n)
		if field.IsZero() {
			continue
		}
		if v.Type().Field(n).Anonymous && field.Kind() == reflect.Struct {
			first = p.fields(field, first)
			continue
		}
		if !first {
			p.text.WriteByte(' ')
		}
		first = false
		p.text.WriteString(v.Type().Field(n).Name + ":")
		p.value(field)
	}
	return first
}

// entries writes a map in the order of the text of its entries.
func (p *printer) entries(v reflect.Value) {
	words := make([]string, 0, v.Len())
	for _, key := range v.MapKeys() {
		one := printer{full: p.full}
		one.value(key)
		one.text.WriteByte(':')
		one.value(v.MapIndex(key))
		words = append(words, one.text.String())
	}
	slices.Sort(words)
	p.text.WriteString("map[" + strings.Join(words, " ") + "]")
}

// key returns a key, or its first bytes.
func (p *printer) key(u provider.UUID) string {
	const enough = 8
	text := u.String()
	if p.full || len(text) <= enough {
		return text
	}
	return text[:enough]
}

// payload returns a payload as text. One that is long, or no text, is shortened.
func (p *printer) payload(b []byte) string {
	const enough = 80
	switch {
	case p.full || len(b) <= enough && utf8.Valid(b):
		return fmt.Sprintf("%q", b)
	case utf8.Valid(b):
		return fmt.Sprintf("%q and %d bytes more", b[:enough], len(b)-enough)
	default:
		return fmt.Sprintf("%x and so on, %d bytes", b[:min(len(b), enough/4)], len(b))
	}
}

// errorText returns the name of the sentinel of an error, with the details that a caller can read from it.
func errorText(err error) string {
	for name, sentinel := range map[string]error{
		"ErrConflict": provider.ErrConflict, "ErrLeaseLost": provider.ErrLeaseLost, "ErrInboxNotEmpty": provider.ErrInboxNotEmpty,
		"ErrInboxFull": provider.ErrInboxFull, "ErrNotFound": provider.ErrNotFound, "ErrExists": provider.ErrExists,
		"ErrEnded": provider.ErrEnded, "ErrRunning": provider.ErrRunning, "ErrNoAnswer": provider.ErrNoAnswer,
		"ErrInvalid": provider.ErrInvalid, "ErrTooLarge": provider.ErrTooLarge, "ErrClosed": provider.ErrClosed,
		"ErrNewerSchema": provider.ErrNewerSchema, "ErrNotStore": provider.ErrNotStore, "ErrForeignTx": provider.ErrForeignTx,
		"context.Canceled": context.Canceled, "context.DeadlineExceeded": context.DeadlineExceeded,
	} {
		switch {
		case err == sentinel: //nolint:errorlint // the sentinel itself needs no text
			return name
		case errors.Is(err, sentinel):
			return name + " (" + err.Error() + ")"
		}
	}
	return err.Error()
}
