package dashboard

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
)

// wire writes values of the client as JSON of the API. An int64 is always a string, since programs that read numbers as floating point
// would round it. Payloads pass unchanged, or are left out.
type wire struct {
	buf     bytes.Buffer
	payload func(Payload) json.RawMessage // returns nil for one that is not shown
	text    func(string) string           // returns a text of an error as it is shown
	part    func(string) string           // returns one of which the store may have the beginning only
	faces   bool                          // excerpts and groups of errors are shown
	wait    func(*client.Wait) string     // returns a wait in words, which may quote an error
}

// fieldOf is a field of a struct as JSON has it.
type fieldOf struct {
	name      string
	index     int
	omitEmpty bool
	omitZero  bool
}

// fieldsOf returns the fields of a struct that JSON has.
func fieldsOf(t reflect.Type) []fieldOf {
	fields := make([]fieldOf, 0, t.NumField())
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = strings.ToLower(f.Name[:1]) + f.Name[1:]
		}
		list := strings.Split(options, ",")
		fields = append(fields, fieldOf{name, i, slices.Contains(list, "omitempty"), slices.Contains(list, "omitzero")})
	}
	return fields
}

//nolint:gochecknoglobals // constant table
var (
	timeType    = reflect.TypeFor[time.Time]()
	rawType     = reflect.TypeFor[json.RawMessage]()
	jsonType    = reflect.TypeFor[json.Marshaler]()
	textType    = reflect.TypeFor[encoding.TextMarshaler]()
	eventType   = reflect.TypeFor[client.HistoryEvent]()
	waitingType = reflect.TypeFor[client.WaitingFor]()
	waitType    = reflect.TypeFor[client.Wait]()
)

// quoting has the fields whose texts are of errors or of people, so that they may quote payloads.
//
//nolint:gochecknoglobals // constant table
var quoting = map[reflect.Type][]string{
	reflect.TypeFor[client.Failure]():             {"message"},
	reflect.TypeFor[client.Blocked]():             {"message"},
	reflect.TypeFor[client.Attempt]():             {"failure"},
	reflect.TypeFor[client.Description]():         {"notStored"},
	reflect.TypeFor[client.HistoryEvent]():        {"reason"},
	reflect.TypeFor[client.ScheduleDescription](): {"note", "findings"},
	reflect.TypeFor[operate.AuditEntry]():         {"detail", "error"},
	reflect.TypeFor[operate.BulkInfo]():           {"problem"},
	reflect.TypeFor[operate.BulkFailure]():        {"error"},
	reflect.TypeFor[operate.DeadLetter]():         {"reason", "unreadable"},
	reflect.TypeFor[operate.Order]():              {"reason"},
	reflect.TypeFor[operate.RetentionInfo]():      {"problem"},
}

// errorText reports whether a field of a struct holds what is shown like the text of an error. The reason of an event that answers another one is a
// word, such as "accepted".
func errorText(of reflect.Value, field string) bool {
	if t := of.Type(); t == eventType && of.FieldByName("Ref").Int() != 0 {
		return false
	}
	return slices.Contains(quoting[of.Type()], field)
}

// partial are structs in which such texts are stored in part if they are long.
//
//nolint:gochecknoglobals // constant table
var partial = []reflect.Type{
	reflect.TypeFor[client.Attempt](), reflect.TypeFor[client.Description](), reflect.TypeFor[operate.BulkFailure](), reflect.TypeFor[operate.AuditEntry](),
}

// quoted writes a text of a struct, or several.
func (w *wire) quoted(of reflect.Type, v reflect.Value) {
	show := w.text
	if slices.Contains(partial, of) {
		show = w.part
	}
	if v.Kind() == reflect.String {
		w.string(show(v.String()))
		return
	}
	w.buf.WriteByte('[')
	for i := range v.Len() {
		w.comma(i)
		w.string(show(v.Index(i).String()))
	}
	w.buf.WriteByte(']')
}

func (w *wire) value(v reflect.Value) {
	for v.IsValid() && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) {
		v = v.Elem()
	}
	if !v.IsValid() {
		w.buf.WriteString("null")
		return
	}
	switch t := v.Type(); {
	case t == rawType:
		w.raw(Payload{Data: v.Bytes()})
	case t == timeType:
		w.string(v.Interface().(time.Time).UTC().Format(time.RFC3339Nano)) //nolint:forcetypeassert // its type was compared
	case t.Implements(jsonType): // a form of its own, such as that of a schedule's specification
		data, err := json.Marshal(v.Interface())
		if err != nil {
			data = []byte("null")
		}
		w.buf.Write(data)
	case t.Implements(textType):
		text, err := v.Interface().(encoding.TextMarshaler).MarshalText() //nolint:forcetypeassert // it implements it
		if err != nil {
			text = nil
		}
		w.string(string(text))
	default:
		w.kind(v)
	}
}

func (w *wire) kind(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		w.object(v)
	case reflect.Map:
		w.entries(v)
	case reflect.Slice, reflect.Array:
		w.buf.WriteByte('[')
		for i := range v.Len() {
			w.comma(i)
			w.value(v.Index(i))
		}
		w.buf.WriteByte(']')
	case reflect.String:
		w.string(v.String())
	case reflect.Bool:
		w.buf.WriteString(strconv.FormatBool(v.Bool()))
	case reflect.Int64:
		w.string(strconv.FormatInt(v.Int(), 10))
	case reflect.Uint64:
		w.string(strconv.FormatUint(v.Uint(), 10))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32:
		w.buf.WriteString(strconv.FormatInt(v.Int(), 10))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32:
		w.buf.WriteString(strconv.FormatUint(v.Uint(), 10))
	case reflect.Float32, reflect.Float64:
		w.buf.WriteString(strconv.FormatFloat(v.Float(), 'g', -1, 64))
	default:
		w.string(fmt.Sprint(v.Interface()))
	}
}

// object writes the fields of a struct. Fields of an embedded struct stand beside the others.
func (w *wire) object(v reflect.Value) {
	w.buf.WriteByte('{')
	w.fields(v, 0)
	w.buf.WriteByte('}')
}

func (w *wire) fields(v reflect.Value, written int) int {
	t := v.Type()
	for _, f := range fieldsOf(t) {
		field := v.Field(f.index)
		if t.Field(f.index).Anonymous && field.Kind() == reflect.Struct {
			written = w.fields(field, written)
			continue
		}
		if f.omitEmpty && isEmpty(field) || f.omitZero && field.IsZero() {
			continue
		}
		if !w.faces && isFace(t, field.Type(), f.name) {
			continue
		}
		if field.Type() == rawType {
			shown := w.payload(Payload{Field: f.name, Name: nameOf(v), Data: field.Bytes()})
			if shown == nil {
				continue
			}
			w.key(written, f.name)
			w.buf.Write(shown)
			written++
			continue
		}
		if t == waitingType && field.Kind() == reflect.String {
			if shown := w.payload(waitingPayload("", field.String())); shown != nil {
				w.key(written, f.name)
				w.buf.Write(shown)
				written++
			}
			continue
		}
		w.key(written, f.name)
		written++
		switch {
		case errorText(v, f.name):
			w.quoted(t, field)
		case t == waitType && f.name == "text":
			of := v.Interface().(client.Wait) //nolint:forcetypeassert // its type was compared
			w.string(w.wait(&of))
		default:
			w.value(field)
		}
	}
	return written
}

// isFace reports whether a field has an excerpt or the group of an error, or which filter finds it.
func isFace(of, field reflect.Type, name string) bool {
	return field == reflect.TypeFor[*client.Excerpt]() || of == reflect.TypeFor[client.Description]() && name == "failureGroup"
}

// waitingPayload returns the text of a wait as a payload.
func waitingPayload(orchestration, text string) Payload {
	data, _ := json.Marshal(text) //nolint:errchkjson // a string
	return Payload{Field: waitingField, Name: orchestration, Data: data}
}

// nameOf returns the name of what has a payload.
func nameOf(v reflect.Value) string {
	for _, name := range []string{"Name", "Orchestration"} {
		if f := v.FieldByName(name); f.IsValid() && f.Kind() == reflect.String {
			return f.String()
		}
	}
	return ""
}

func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	default:
		return v.IsZero()
	}
}

// typed is an attribute: its type must not depend on its value.
type typed struct {
	Type  string `json:"type"` // string, int64, bool or time
	Value string `json:"value"`
}

// entries writes a map in the order of its keys.
func (w *wire) entries(v reflect.Value) {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		return strings.Compare(fmt.Sprint(a.Interface()), fmt.Sprint(b.Interface()))
	})
	w.buf.WriteByte('{')
	for i, k := range keys {
		w.key(i, fmt.Sprint(k.Interface()))
		if v.Type().Elem().Kind() == reflect.Interface {
			w.attribute(fmt.Sprint(k.Interface()), v.MapIndex(k).Interface())
		} else {
			w.value(v.MapIndex(k))
		}
	}
	w.buf.WriteByte('}')
}

// attribute writes an attribute with its type. Its value is a payload, too.
func (w *wire) attribute(name string, v any) {
	a := attributeOf(v)
	data, _ := json.Marshal(a.Value) //nolint:errchkjson // a string
	shown := w.payload(Payload{Field: "attributes", Name: name, Data: data})
	if shown == nil {
		shown = json.RawMessage(`""`)
	}
	w.buf.WriteString(`{"type":`)
	w.string(a.Type)
	w.buf.WriteString(`,"value":`)
	w.buf.Write(shown)
	w.buf.WriteByte('}')
}

func attributeOf(v any) typed {
	switch v := v.(type) {
	case int64:
		return typed{"int64", strconv.FormatInt(v, 10)}
	case bool:
		return typed{"bool", strconv.FormatBool(v)}
	case time.Time:
		return typed{"time", v.UTC().Format(time.RFC3339Nano)}
	default:
		return typed{"string", fmt.Sprint(v)}
	}
}

func (w *wire) raw(p Payload) {
	shown := w.payload(p)
	if shown == nil {
		shown = json.RawMessage("null")
	}
	w.buf.Write(shown)
}

func (w *wire) comma(i int) {
	if i > 0 {
		w.buf.WriteByte(',')
	}
}

func (w *wire) key(i int, name string) {
	w.comma(i)
	w.string(name)
	w.buf.WriteByte(':')
}

func (w *wire) string(s string) {
	data, _ := json.Marshal(s) //nolint:errchkjson // a string
	w.buf.Write(data)
}
