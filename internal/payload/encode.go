package payload

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// ErrEncode is wrapped by every error of Encode.
var ErrEncode = errors.New("payload cannot be encoded")

// Encode returns the bytes of v, none if the type of v is an empty struct. The bytes
// share nothing with v. A panic in a method of v becomes an error.
func Encode(v any) (data []byte, err error) {
	t := reflect.TypeOf(v)
	if isNothing(t) {
		return nil, nil
	}
	defer func() {
		if r := recover(); r != nil {
			data, err = nil, fmt.Errorf("%w: %v: a method panicked: %v", ErrEncode, t, r)
		}
	}()
	data, err = json.Marshal(addressable(v, t))
	if err != nil {
		return nil, fmt.Errorf("%w: %v: %w", ErrEncode, t, err)
	}
	return data, nil
}

// isNothing reports whether values of t are encoded as no bytes.
func isNothing(t reflect.Type) bool {
	return t != nil && t.Kind() == reflect.Struct && t.NumField() == 0 &&
		formOf(reflect.PointerTo(t), marshaler, textMarshaler) == structural
}

// addressable returns a pointer to a copy of v, so that encoding/json finds MarshalJSON and MarshalText where they
// have a pointer receiver. It ignores these for a plain value, although it does use UnmarshalJSON on the way back. A
// math/big.Int would be written as {} and could not be read.
func addressable(v any, t reflect.Type) any {
	if t == nil {
		return v
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Array:
	default:
		if t.PkgPath() == "" { // no methods
			return v
		}
	}
	p := reflect.New(t)
	p.Elem().Set(reflect.ValueOf(v))
	return p.Interface()
}
