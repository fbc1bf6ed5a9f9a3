package payload

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// ErrDecode is wrapped by every error of Decode.
var ErrDecode = errors.New("payload cannot be decoded")

// Decode reads the bytes from Encode into the value that into points to. It sets that value to zero first, and again
// after an error: its old content never shows. Empty data is the zero value. The value shares nothing with data. A
// panic in a method of the value becomes an error.
func Decode(data []byte, into any) (err error) {
	p := reflect.ValueOf(into)
	if p.Kind() != reflect.Pointer || p.IsNil() {
		return fmt.Errorf("%w into %T: a pointer that is not nil is needed", ErrDecode, into)
	}
	target := p.Elem()
	target.SetZero()
	if len(data) == 0 {
		return nil
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w into %v: a method panicked: %v", ErrDecode, target.Type(), r)
		}
		if err != nil {
			target.SetZero()
		}
	}()
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%w into %v, %s: %w", ErrDecode, target.Type(), place(data, err), err)
	}
	return nil
}

// place says where in data an error of encoding/json is.
func place(data []byte, err error) string {
	var (
		mismatch *json.UnmarshalTypeError
		syntax   *json.SyntaxError
	)
	switch {
	case errors.As(err, &mismatch) && mismatch.Field != "":
		return fmt.Sprintf("field %s at byte %d of %s", mismatch.Field, mismatch.Offset, sample(data, mismatch.Offset))
	case errors.As(err, &mismatch):
		return fmt.Sprintf("at byte %d of %s", mismatch.Offset, sample(data, mismatch.Offset))
	case errors.As(err, &syntax):
		return fmt.Sprintf("at byte %d of %s", syntax.Offset, sample(data, syntax.Offset))
	default:
		return "from " + sample(data, 0)
	}
}

// shown is how many bytes of a bad payload an error repeats.
const shown = 48

// sample quotes the part of data that ends shortly after offset. An offset that comes
// from a user's own UnmarshalJSON may be anything.
func sample(data []byte, offset int64) string {
	end := min(max(int(offset)+shown/4, shown), len(data))
	start := max(end-shown, 0)
	text := fmt.Sprintf("%q", data[start:end])
	if start > 0 {
		text = "..." + text
	}
	if end < len(data) {
		text += "..."
	}
	return text
}
