package recorded

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// Change is a change of what turns store that was made since the recording.
type Change struct {
	Commit string // that made it
	// Undo changes a turn into what it was before.
	Undo func(made *provider.CommitTurnRequest)
}

// compare returns how a request differs from the recorded one of the same type, "" if it does not. The tokens are those of the lease of the
// turn, in the recording and now. See the package comment for what does not count. If the requests are equal but for a change, it returns the
// commit of that.
func compare(recorded json.RawMessage, then provider.UUID, made any, now provider.UUID, changes []Change) (diff, commit string) {
	want, got := reflect.New(reflect.TypeOf(made).Elem()), reflect.New(reflect.TypeOf(made).Elem())
	if err := strictly(recorded, want.Interface()); err != nil {
		return "reading the recording: " + err.Error(), ""
	}
	if err := strictly(encode(made), got.Interface()); err != nil { // a copy: the request is the engine's
		return "copying the request: " + err.Error(), ""
	}
	for i, id := range drawn(want.Interface()) {
		if other := drawn(got.Interface()); i < len(other) {
			swap(got.Elem(), other[i], id)
		}
	}
	for of, token := range map[reflect.Value]provider.UUID{want: then, got: now} {
		normalize(of.Interface(), token)
		bytesOf(of, withoutStacks)
	}
	a, b := canonical(want.Interface()), canonical(got.Interface())
	if bytes.Equal(a, b) {
		return "", ""
	}
	for _, c := range changes {
		if turn := commitOf(got.Interface()); turn != nil {
			c.Undo(turn)
		}
		if bytes.Equal(a, canonical(got.Interface())) {
			return "", c.Commit
		}
	}
	return cmp.Diff(readable(a), readable(b)), ""
}

// drawn returns the keys and message IDs that the engine has drawn for the events of a request, in the order of the events.
func drawn(req any) (ids []provider.UUID) {
	commit := commitOf(req)
	if commit == nil {
		return nil
	}
	for _, data := range commit.Events {
		e, err := history.Decode(0, data)
		if err != nil {
			continue // it is compared as it is
		}
		switch b := e.Body.(type) {
		case *history.ChildStarted:
			ids = append(ids, b.Key)
		case *history.DetachedStarted:
			ids = append(ids, b.Key)
		case *history.EventSent:
			ids = append(ids, b.Message)
		case *history.CancelSent:
			ids = append(ids, b.Message)
		}
	}
	return ids
}

// commitOf returns the turn of a request; nil: it has none.
func commitOf(req any) *provider.CommitTurnRequest {
	switch r := req.(type) {
	case *provider.CommitTurnRequest:
		return r
	case *provider.CreateRequest:
		return r.First
	}
	return nil
}

// swap replaces an ID wherever it is in v, also in bytes and in texts.
func swap(v reflect.Value, from, to provider.UUID) {
	bytesOf(v, func(data []byte) []byte {
		return bytes.ReplaceAll(bytes.ReplaceAll(data, from[:], to[:]), []byte(from.String()), []byte(to.String()))
	})
}

// bytesOf changes all IDs, texts and byte slices in v.
func bytesOf(v reflect.Value, change func([]byte) []byte) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			bytesOf(v.Elem(), change)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			bytesOf(field, change)
		}
	case reflect.Slice:
		switch {
		case v.Type().Elem().Kind() != reflect.Uint8:
			for i := range v.Len() {
				bytesOf(v.Index(i), change)
			}
		case !v.IsNil():
			v.SetBytes(change(v.Bytes()))
		}
	case reflect.Array: // an ID
		copy(v.Slice(0, v.Len()).Bytes(), change(slices.Clone(v.Slice(0, v.Len()).Bytes())))
	case reflect.String:
		v.SetString(string(change([]byte(v.String()))))
	default:
	}
}

// withoutStacks returns an event or outcome whose failures have no stacks, and other data as they are.
func withoutStacks(data []byte) []byte {
	if !bytes.Contains(data, []byte(stack)) {
		return data
	}
	if e, err := history.Decode(0, data); err == nil {
		bytesOf(reflect.ValueOf(e.Body), cutStack)
		return history.Encode(nil, e)
	}
	if o, err := history.DecodeOutcome(data); err == nil {
		bytesOf(reflect.ValueOf(&o), cutStack)
		return history.EncodeOutcome(o)
	}
	return cutStack(data)
}

// stack is how a stack begins.
const stack = "\ngoroutine "

func cutStack(text []byte) []byte {
	before, _, _ := bytes.Cut(text, []byte(stack))
	return before
}

// normalize removes from a request what a node draws at random.
func normalize(req any, token provider.UUID) {
	if r, ok := req.(*provider.TurnRelease); ok {
		r.Token = leaseOf(r.Token, token)
		if r.Kind != provider.ReleaseFailed {
			r.Delay = 0
		} else {
			r.Failure.Message, _, _ = strings.Cut(r.Failure.Message, "\n")
		}
	}
	r := commitOf(req)
	if r == nil {
		return
	}
	r.Commit, r.Lease = provider.UUID{}, leaseOf(r.Lease, token)
	if r.Owner != "" {
		r.Owner = "this node"
	}
	for i := range r.Starts {
		r.Starts[i].Create.Commit = provider.UUID{}
	}
	for i := range r.Tasks {
		if lease := r.Tasks[i].Lease; lease != nil {
			lease.Token, lease.Owner = provider.UUID{}, "this node"
		}
	}
}

// leaseOf returns the same for the lease of the turn, whatever its token.
func leaseOf(named, token provider.UUID) provider.UUID {
	if named == token && !token.IsZero() {
		return provider.UUID{1}
	}
	return named
}

// canonical returns v as JSON without what is nil or an empty list, the fields in the order of their names.
func canonical(v any) []byte {
	var tree any
	in := json.NewDecoder(bytes.NewReader(encode(v)))
	in.UseNumber()
	if err := in.Decode(&tree); err != nil {
		panic(err)
	}
	return encode(prune(tree))
}

// prune returns nil for what canonical leaves out.
func prune(tree any) any {
	switch v := tree.(type) {
	case map[string]any:
		for name, field := range v {
			if field = prune(field); field == nil {
				delete(v, name)
			} else {
				v[name] = field
			}
		}
	case []any:
		if len(v) == 0 {
			return nil
		}
		for i := range v {
			v[i] = prune(v[i])
		}
	}
	return tree
}

// readable returns the lines of canonical JSON, with events in words.
func readable(data []byte) []string {
	var text bytes.Buffer
	if err := json.Indent(&text, data, "", "  "); err != nil {
		return []string{string(data)}
	}
	lines := strings.Split(text.String(), "\n")
	for i, line := range slices.Clone(lines) {
		before, quoted, ok := strings.Cut(line, `"`)
		if name, value, of := strings.Cut(quoted, `": "`); of {
			before, quoted = before+name+": ", value
		}
		data, err := base64.StdEncoding.DecodeString(strings.TrimRight(quoted, `",`))
		if !ok || err != nil || len(data) < 2 {
			continue
		}
		if e, err := history.Decode(0, data); err == nil {
			lines[i] = fmt.Sprintf("%s%v at %d %s", before, e.Body.Kind(), e.At, encode(e.Body))
		}
	}
	return lines
}
