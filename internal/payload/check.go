package payload

import (
	"errors"
	"fmt"
	"reflect"
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
