package failure

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/payload"
)

// Limits of one stored tree. Everything beyond them is left out, and a message says so. The shape goes before the
// words: with its 64 KiB used up, each message is cut to minMessage bytes. Identity goes before the shape: sentinels
// and registered types of a part that is left out are stored where the tree was cut.
const (
	maxDepth    = 20
	maxNodes    = 256
	maxKept     = 64   // sentinels and types kept of the part that is left out
	maxVisits   = 4096 // errors looked at, as a user's tree may be endless
	maxMessage  = 16 << 10
	minMessage  = 128
	maxMessages = 64 << 10
	maxDetails  = 256 << 10
	noteRoom    = 64 // kept free for notes, so that a message is not cut again when it is stored again
)

// Encode returns err as it is stored. It never fails: methods of err that panic are
// reported in the message. nil becomes an empty failure.
func (s *Set) Encode(err error) (f history.Failure) {
	if err == nil {
		return history.Failure{}
	}
	defer func() {
		if r := recover(); r != nil {
			f = history.Failure{Type: goType(err), Message: fmt.Sprintf("error of type %T cannot be stored: panic: %v", err, r)}
		}
	}()
	e := encoder{
		set: s.table(), nodes: maxNodes, kept: maxKept, visits: maxVisits, messages: maxMessages, details: maxDetails,
		seen: make(map[identity]bool),
	}
	f = e.node(err, 1)
	f.NonRetryable = IsNonRetryable(err)
	return f
}

// encoder walks a tree of errors; the numbers are how much may still be stored.
type encoder struct {
	set                                    *table
	nodes, kept, visits, messages, details int
	seen                                   map[identity]bool // that are stored
}

// node encodes err and the errors that it wraps.
func (e *encoder) node(err error, depth int) history.Failure {
	marked, err := e.set.plain(err)
	e.nodes--
	f := e.single(err)
	f.NonRetryable = f.NonRetryable || marked
	if s := sentinelOf(err); s != nil && f.NonRetryable != s.final {
		f.Message = message(err) // it is read as an error with this text, not as the sentinel
	}
	e.causes(&f, e.wrapped(err), depth)
	return f
}

// single encodes err without the errors that it wraps.
func (e *encoder) single(err error) history.Failure {
	name, registered := e.set.sentinelName(err)
	f := history.Failure{Type: name, Registered: registered, Message: message(err), NonRetryable: isMarked(err)}
	if !registered {
		e.identify(&f, err)
	}
	f.Type, f.Message = valid(f.Type), valid(f.Message)
	if len(f.Type) > maxName {
		f.Type = cut(f.Type, maxName)
	}
	if limit := min(maxMessage, max(e.messages, minMessage)); len(f.Message) > limit+noteRoom {
		f.Message = cut(f.Message, limit)
	}
	e.messages -= len(f.Message)
	if id, ok := e.set.identity(err); ok {
		e.seen[id] = true
	}
	return f
}

// identify sets the identity of err: code, type and details.
func (e *encoder) identify(f *history.Failure, err error) {
	if isNilPointer(err) {
		f.Type = goType(err)
		return
	}
	if s := sentinelOf(err); s != nil {
		f.Code, f.Message = s.code, s.message
		return
	}
	if parts := own(err); parts != nil {
		f.Type, f.Code, f.Registered = parts.Type, parts.code, parts.registered
		f.Details = bytes.Clone(parts.Details)
	} else {
		name, ok := e.set.typeName(err)
		if !ok {
			f.Type = goType(err)
			return
		}
		data, failed := payload.EncodeReadable(err)
		if failed != nil {
			f.Type = goType(err)
			f.Message += fmt.Sprintf(" (%v)", failed)
			return
		}
		f.Type, f.Registered, f.Details = name, true, data
	}
	if len(f.Details) > e.details {
		f.Message += fmt.Sprintf(" (%d bytes of details left out)", len(f.Details))
		f.Details, f.Registered = nil, false // without its details it would decode to another value
	}
	e.details -= len(f.Details)
}

// wrapped returns the errors that err wraps. An Is method is not stored. An error with one also wraps the registered
// sentinels that the method accepts, unless it is a sentinel itself.
func (e *encoder) wrapped(err error) []error {
	causes := unwrap(err)
	if _, registered := e.set.sentinelName(err); !registered {
		causes = append(slices.Clip(causes), e.claimed(err)...)
	}
	return causes
}

// causes encodes the causes of the error that f was made of.
func (e *encoder) causes(f *history.Failure, causes []error, depth int) {
	if len(causes) > 0 && depth == maxDepth {
		f.Message += " (causes left out)"
		return
	}
	for i, cause := range causes {
		if e.nodes <= 0 {
			if lost := e.keep(f, causes[i:]); lost > 0 {
				f.Message += fmt.Sprintf(" (%d causes left out)", lost)
			}
			return
		}
		if cause == nil {
			continue
		}
		f.Causes = append(f.Causes, e.node(cause, depth+1))
		if depth+1 == maxDepth {
			_, inner := e.set.plain(cause)
			e.keep(f, e.wrapped(inner))
		}
	}
}

// claimed returns the registered sentinels that the Is method of err accepts.
func (e *encoder) claimed(err error) (targets []error) {
	is, ok := err.(interface{ Is(target error) bool })
	if !ok || isNilPointer(err) {
		return nil
	}
	defer func() {
		if recover() != nil {
			targets = nil
		}
	}()
	for _, name := range e.set.names {
		if target := e.set.entries[name].target; is.Is(target) {
			targets = append(targets, target)
		}
	}
	return targets
}

// message returns the message of err, or a substitute if that panics.
func message(err error) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = fmt.Sprintf("%T, whose Error method panicked: %v", err, r)
			if isNilPointer(err) {
				text = "a nil " + text + " (return a plain nil for success)"
			}
		}
	}()
	return err.Error()
}

// goType returns the name of err's type, nothing for types that only carry a text.
func goType(err error) string {
	t := reflect.TypeOf(err)
	value := t
	if t.Kind() == reflect.Pointer {
		value = t.Elem()
	}
	switch value.PkgPath() {
	case "errors", "fmt":
		return ""
	default:
		return t.String()
	}
}

func valid(s string) string { return strings.ToValidUTF8(s, string(utf8.RuneError)) }

// cut shortens s, which is longer, to limit bytes.
func cut(s string, limit int) string {
	note := fmt.Sprintf("... (%d bytes)", len(s))
	end := limit - len(note)
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + note
}

// identity is what errors.Is and errors.As find of a stored error: its registered name, or its code if it is the
// engine's.
type identity struct{ name, code string }

// identity returns the identity of err itself; ok is false for an error that has none.
func (t *table) identity(err error) (id identity, ok bool) {
	if name, registered := t.sentinelName(err); registered {
		return identity{name: name}, true
	}
	if isNilPointer(err) {
		return identity{}, false
	}
	if s := sentinelOf(err); s != nil {
		return identity{code: s.code}, true
	}
	if e := own(err); e != nil {
		if e.registered {
			id.name = e.Type
		}
		id.code = e.code
		return id, id != identity{}
	}
	name, registered := t.typeName(err)
	return identity{name: name}, registered
}

// keep adds to f what must survive when errs and their causes are left out. That is every sentinel and registered
// type that is not stored yet, without its causes. It returns the number of errors that are lost.
func (e *encoder) keep(f *history.Failure, errs []error) (lost int) {
	for _, err := range errs {
		if err == nil {
			continue
		}
		if e.visits <= 0 {
			return lost + 1
		}
		e.visits--
		_, err = e.set.plain(err)
		if !e.keepOne(f, err) {
			lost++
		}
		lost += e.keep(f, e.wrapped(err))
	}
	return lost
}

// keepOne reports whether err was added to f.
func (e *encoder) keepOne(f *history.Failure, err error) bool {
	id, ok := e.set.identity(err)
	if !ok || e.seen[id] || e.kept <= 0 {
		return false
	}
	one := e.single(err)
	if !one.Registered && one.Code == "" {
		return false // its details are too large, or cannot be encoded
	}
	e.kept--
	f.Causes = append(f.Causes, one)
	return true
}

// plain strips the wrappers that are stored as a mark or not at all from err. It reports whether err was marked as
// non-retryable. A join of one error is that error.
func (t *table) plain(err error) (marked bool, inner error) {
	for range maxVisits {
		if _, registered := t.sentinelName(err); registered {
			break
		}
		switch own := err.(type) { //nolint:errorlint // the value itself
		case *nonRetryableError:
			err, marked = own.err, true
			continue
		case *retryAfterError:
			err = own.err
			continue
		}
		only := joinOfOne(err)
		if only == nil {
			break
		}
		err = only
	}
	return marked, err
}

// joinOfOne returns the error that errors.Join was given if it was a single one, else nil.
func joinOfOne(err error) error {
	if reflect.TypeOf(err) != joined {
		return nil
	}
	if causes := unwrap(err); len(causes) == 1 {
		return causes[0]
	}
	return nil
}

//nolint:gochecknoglobals // constant: a type that the package errors does not export
var joined = reflect.TypeOf(errors.Join(ErrInvalid))
