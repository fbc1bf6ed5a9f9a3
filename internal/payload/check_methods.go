package payload

import (
	"encoding"
	"encoding/json"
	"reflect"
)

//nolint:gochecknoglobals // constant table
var (
	marshaler       = reflect.TypeFor[json.Marshaler]()
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// form is how encoding/json treats a type in one direction.
type form int

const (
	structural form = iota // by its kind and fields
	asText                 // as the string of MarshalText or UnmarshalText
	asJSON                 // by MarshalJSON or UnmarshalJSON
)

// formOf returns which of the two interfaces t has; JSON goes before text.
func formOf(t, jsonMethod, textMethod reflect.Type) form {
	switch {
	case jsonMethod != nil && t.Implements(jsonMethod):
		return asJSON
	case t.Implements(textMethod):
		return asText
	default:
		return structural
	}
}

// checkMethods judges the marshalling methods of t. It is done if t reads itself, for
// then its fields do not matter.
func checkMethods(t reflect.Type, path string, addressable bool) (done bool, err error) {
	p := reflect.PointerTo(t)
	reads := formOf(p, unmarshaler, textUnmarshaler)
	writes := formOf(p, marshaler, textMarshaler)
	if !addressable && formOf(t, marshaler, textMarshaler) != writes {
		return true, refuse(path, "%v in a map: its marshalling method has a pointer receiver and is not called; use *%v", t, t)
	}
	text := t.Kind() == reflect.String // a string fits a string on either side
	switch {
	case writes == asText && reads == structural && !text:
		return true, refuse(path, "%v has MarshalText without UnmarshalText", t)
	case writes == structural && reads == asText && !text:
		return true, refuse(path, "%v has UnmarshalText without MarshalText", t)
	default:
		return reads != structural, nil
	}
}
