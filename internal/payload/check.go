package payload

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// ErrType is wrapped by every error of Check.
var ErrType = errors.New("type cannot be stored as JSON")

// Check refuses a type whose values JSON cannot restore, and names the field: "Order.Items[].Callback: func". It is
// called when a function is registered, so that a bad type fails before the first call. The content of an any is not
// known then: Encode and Decode judge it.
func Check(t reflect.Type) error {
	if t == nil {
		return fmt.Errorf("%w: no type given", ErrType)
	}
	root := t.Name()
	if root == "" {
		root = t.String()
	}
	c := checker{seen: make(map[visit]bool)}
	return c.walk(t, root, true)
}

type checker struct {
	seen map[visit]bool // ends the walk of recursive types
}

type visit struct {
	t           reflect.Type
	addressable bool
	embedded    bool
}

func refuse(path, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrType, path, fmt.Sprintf(format, args...))
}

// walk checks t, found at path. The value is addressable unless it lies in a map.
func (c *checker) walk(t reflect.Type, path string, addressable bool) error {
	v := visit{t: t, addressable: addressable}
	if c.seen[v] {
		return nil
	}
	c.seen[v] = true

	switch t.Kind() {
	case reflect.Pointer:
		return c.walk(t.Elem(), path, true)
	case reflect.Interface:
		return checkInterface(t, path)
	default:
	}
	if done, err := checkMethods(t, path, addressable); done || err != nil {
		return err
	}
	switch t.Kind() {
	case reflect.Func, reflect.Chan, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return refuse(path, "%v: take it out, or tag the field `json:\"-\"`", t.Kind())
	case reflect.Slice:
		return c.walk(t.Elem(), path+"[]", true)
	case reflect.Array:
		return c.walk(t.Elem(), path+"[]", addressable)
	case reflect.Map:
		if err := checkKey(t.Key(), path); err != nil {
			return err
		}
		return c.walk(t.Elem(), path+"[]", false)
	case reflect.Struct:
		return c.walkStruct(t, path, addressable)
	default:
		return nil
	}
}

// checkInterface allows any, which decodes to JSON's own types.
func checkInterface(t reflect.Type, path string) error {
	if t.NumMethod() == 0 {
		return nil
	}
	return refuse(path, "interface %v: decoding cannot know which type it held; use a concrete type or any", t)
}

// checkKey follows the rules of encoding/json for the keys of maps, which differ for
// writing and reading.
func checkKey(t reflect.Type, path string) error {
	writes := formOf(t, nil, textMarshaler) == asText // a key is not addressable
	reads := formOf(reflect.PointerTo(t), nil, textUnmarshaler) == asText
	switch t.Kind() {
	case reflect.String: // is written as it is, never by MarshalText
		return nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if writes == reads {
			return nil
		}
	default:
		if writes && reads {
			return nil
		}
	}
	return refuse(path+"[key]", "map key %v: use a string or an integer, or give it both MarshalText (value receiver) and UnmarshalText", t)
}

// walkStruct checks the fields of t and refuses a struct without any stored field.
func (c *checker) walkStruct(t reflect.Type, path string, addressable bool) error {
	stored, err := c.walkFields(t, path, addressable)
	if err == nil && stored == 0 && t.NumField() > 0 {
		return refuse(path, "struct %v has no exported field; export fields, or give it MarshalJSON and UnmarshalJSON", t)
	}
	return err
}

// walkFields returns how many fields of t are stored. Embedded structs count as fields of t, since JSON writes them
// so; fields that are hidden by rules of depth are checked nevertheless.
func (c *checker) walkFields(t reflect.Type, path string, addressable bool) (int, error) {
	stored := 0
	names := make(map[string]string, t.NumField())
	for f := range t.Fields() {
		tag, tagged := f.Tag.Lookup("json")
		if tag == "-" {
			continue
		}
		name, _, _ := strings.Cut(tag, ",")
		fieldPath := path + "." + f.Name
		if f.Anonymous && name == "" && isStruct(f.Type) {
			n, err := c.walkEmbedded(f, fieldPath, addressable)
			if err != nil {
				return 0, err
			}
			stored += n
			continue
		}
		if !f.IsExported() {
			continue
		}
		if name == "" {
			name = f.Name
		}
		if other, twice := names[name]; twice && tagged {
			return 0, refuse(fieldPath, "has the JSON name %q of field %s; JSON drops both", name, other)
		}
		names[name] = f.Name
		if err := c.walk(f.Type, fieldPath, addressable); err != nil {
			return 0, err
		}
		stored++
	}
	return stored, nil
}

// walkEmbedded checks an embedded struct or pointer to a struct.
func (c *checker) walkEmbedded(f reflect.StructField, path string, addressable bool) (int, error) {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		if !f.IsExported() {
			return 0, refuse(path, "embedded pointer to unexported struct %v, which JSON cannot set; embed the struct", t.Elem())
		}
		t, addressable = t.Elem(), true
	}
	v := visit{t: t, addressable: addressable, embedded: true}
	if c.seen[v] {
		return 1, nil
	}
	c.seen[v] = true
	return c.walkFields(t, path, addressable)
}

// isStruct reports whether t is a struct or a pointer to one.
func isStruct(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct
}

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
