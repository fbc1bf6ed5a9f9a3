package payload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxDepth is how deep arrays and objects may be nested in a value. encoding/json reads no more.
const MaxDepth = 10_000

// EncodeExact is Encode for values that are stored. It refuses a value that Decode would refuse, or return changed, and names the place: one
// nested too deep, text that is not UTF-8, and in an any a number that a float64 cannot hold.
func EncodeExact(v any) ([]byte, error) {
	data, err := Encode(v)
	if err != nil {
		return nil, err
	}
	if why := inexact(v, data); why != "" {
		return nil, fmt.Errorf("%w: %T: %s", ErrEncode, v, why)
	}
	return data, nil
}

// EncodeReadable is Encode for the details of errors, and for outputs of executions of earlier levels. It refuses only what nobody could
// read: a value nested too deep.
func EncodeReadable(v any) ([]byte, error) {
	data, err := Encode(v)
	if err != nil {
		return nil, err
	}
	if why := tooDeep(data); why != "" {
		return nil, fmt.Errorf("%w: %T: %s", ErrEncode, v, why)
	}
	return data, nil
}

// inexact says why v, encoded as data, cannot be read back as it is; "" if it can. Each look passes quickly over what cannot
// have its fault, which is nearly every value.
func inexact(v any, data []byte) string {
	if why := tooDeep(data); why != "" {
		return why
	}
	if !utf8.Valid(data) {
		return "JSON at byte " + strconv.Itoa(invalidAt(data)) + " is not UTF-8: encode other text as base64"
	}
	if at := unpairedSurrogate(data); at >= 0 {
		return fmt.Sprintf("the JSON string escape at byte %d is half of a UTF-16 pair, which is no text: write both halves, or U+FFFD", at)
	}
	if bytes.Contains(data, []byte(`\ufffd`)) || longNumber(data) || longExponent(data) {
		return changed(reflect.ValueOf(v), "", false)
	}
	return ""
}

// tooDeep says where data is nested deeper than MaxDepth.
func tooDeep(data []byte) string {
	if bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) <= MaxDepth {
		return ""
	}
	depth, inString := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '[' || c == '{':
			if depth++; depth > MaxDepth {
				return fmt.Sprintf("it is nested more than %d deep at byte %d of its JSON: store a list of nodes that name each other", MaxDepth, i)
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return ""
}

// invalidAt returns where data stops being UTF-8.
func invalidAt(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(data)
}

// unpairedSurrogate returns where a string has half of a UTF-16 pair as an escape, or -1. encoding/json writes none itself; raw JSON
// and methods of users may.
func unpairedSurrogate(data []byte) int {
	if !bytes.Contains(data, []byte(`\ud`)) && !bytes.Contains(data, []byte(`\uD`)) {
		return -1
	}
	for i := 0; i+1 < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		high, ok := escape(data[i:])
		switch {
		case !ok:
			i++ // the escaped character
		case high < 0xd800 || high > 0xdfff:
			i += 5
		case high > 0xdbff:
			return i
		default:
			if low, ok := escape(data[i+6:]); !ok || low < 0xdc00 || low > 0xdfff {
				return i
			}
			i += 11
		}
	}
	return -1
}

// escape returns the number of an escape such as \u00e9 at the start of data.
func escape(data []byte) (uint64, bool) {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(data[2:6]), 16, 16)
	return n, err == nil
}

// exactDigits is how many digits an integer has at least that a float64 cannot hold.
const exactDigits = 16

// longNumber reports whether data may hold such an integer. A run of 16 digits has one at an index of 15, 31, 47, ...
func longNumber(data []byte) bool {
	digit := func(i int) bool { return i >= 0 && i < len(data) && data[i] >= '0' && data[i] <= '9' }
	for i := exactDigits - 1; i < len(data); i += exactDigits {
		if !digit(i) {
			continue
		}
		from, to := i, i
		for digit(from - 1) {
			from--
		}
		for digit(to + 1) {
			to++
		}
		if to-from+1 >= exactDigits {
			return true
		}
	}
	return false
}

// longExponent reports whether data may hold a number beyond those of a float64, such as 1e400. A text may look like one; the
// hexadecimal digits of a UUID do not.
func longExponent(data []byte) bool {
	digit := func(i int) bool { return i >= 0 && i < len(data) && data[i] >= '0' && data[i] <= '9' }
	for i, c := range data {
		if c != 'e' && c != 'E' || !digit(i-1) {
			continue
		}
		to := i + 1
		if to < len(data) && data[to] == '+' {
			to++
		}
		if !digit(to) || !digit(to+1) || !digit(to+2) {
			continue
		}
		from := i - 1
		for digit(from) || from >= 0 && (data[from] == '.' || data[from] == '-') {
			from--
		}
		if from < 0 || strings.IndexByte(":[, \n\t\r", data[from]) >= 0 { // what stands before a number
			return true
		}
	}
	return false
}

// changed says where v, found at path, has a value that JSON changes. v has been encoded, so it is no cycle. loose
// tells that it lies in an any, which decodes to JSON's own types.
func changed(v reflect.Value, path string, loose bool) string {
	if !v.IsValid() {
		return ""
	}
	t := v.Type()
	switch t.Kind() {
	case reflect.Interface:
		return changed(v.Elem(), path, true)
	case reflect.Pointer:
		return changed(v.Elem(), path, loose)
	default:
	}
	if t == reflect.TypeFor[json.Number]() { // no assertion: v may be a field of an embedded struct that is not exported
		if loose && !exactText(v.String()) {
			return inexactNumber(path, v.String())
		}
		return ""
	}
	if formOf(reflect.PointerTo(t), marshaler, textMarshaler) != structural {
		return changedJSON(v, path, loose)
	}
	switch t.Kind() {
	case reflect.String:
		if s := v.String(); !utf8.ValidString(s) {
			return fmt.Sprintf("%s is text that is not UTF-8: %s; use []byte, or convert it", at(path), strconv.QuoteToASCII(start(s)))
		}
	case reflect.Slice, reflect.Array:
		return changedItem(v, path, loose)
	case reflect.Map:
		return changedEntry(v, path, loose)
	case reflect.Struct:
		return changedField(v, path, loose)
	default:
		if !loose || !v.CanInt() && !v.CanUint() {
			return ""
		}
		if text := fmt.Sprint(v); !exactText(text) {
			return inexactNumber(path, text)
		}
	}
	return ""
}

// changedJSON says which number is changed that v, which writes itself, such as raw JSON, writes into an any at path.
func changedJSON(v reflect.Value, path string, loose bool) string {
	if !loose || !v.CanInterface() {
		return ""
	}
	if v.CanAddr() { // its methods may have a pointer receiver
		v = v.Addr()
	}
	data, err := Encode(v.Interface())
	if err != nil {
		return "" // v lies in a value that has been encoded
	}
	numbers := json.NewDecoder(bytes.NewReader(data))
	numbers.UseNumber()
	for {
		token, err := numbers.Token()
		if err != nil {
			return ""
		}
		if n, ok := token.(json.Number); ok && !exactText(n.String()) {
			return inexactNumber(path, n.String())
		}
	}
}

func changedItem(v reflect.Value, path string, loose bool) string {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return "" // written as base64
	}
	for i := range v.Len() {
		if why := changed(v.Index(i), fmt.Sprintf("%s[%d]", path, i), loose); why != "" {
			return why
		}
	}
	return ""
}

func changedEntry(v reflect.Value, path string, loose bool) string {
	for k, e := range v.Seq2() {
		if k.Kind() == reflect.String && !utf8.ValidString(k.String()) {
			return fmt.Sprintf("a key of %s is text that is not UTF-8: %s", at(path), strconv.QuoteToASCII(start(k.String())))
		}
		if why := changed(e, fmt.Sprintf("%s[%v]", path, start(fmt.Sprint(k))), loose); why != "" {
			return why
		}
	}
	return ""
}

func changedField(v reflect.Value, path string, loose bool) string {
	for f := range v.Type().Fields() {
		if f.Tag.Get("json") == "-" || !f.IsExported() && !f.Anonymous {
			continue
		}
		if why := changed(v.FieldByIndex(f.Index), strings.TrimPrefix(path+"."+f.Name, "."), loose); why != "" {
			return why
		}
	}
	return ""
}

// at names the place of a value; the whole value has no path.
func at(path string) string {
	if path == "" {
		return "the value"
	}
	return path
}

// start returns the beginning of a text that an error repeats.
func start(s string) string { return s[:min(len(s), shown)] }

func inexactNumber(path, number string) string {
	return fmt.Sprintf("%s is %s in an any, which is read as a float64 that cannot hold it: use a field of an integer type, or a string", at(path), start(number))
}

// exactText reports whether a float64 holds the number of a text. One with a fraction or an exponent was a float64 before, or is as
// close as it gets, unless it is beyond them all.
func exactText(number string) bool {
	n, ok := new(big.Int).SetString(number, 10)
	if !ok {
		_, err := strconv.ParseFloat(number, 64)
		return err == nil
	}
	if n.BitLen() <= 53 {
		return true
	}
	f, _ := new(big.Float).SetInt(n).Float64()
	if math.IsInf(f, 0) {
		return false
	}
	back, accuracy := big.NewFloat(f).Int(nil)
	return accuracy == big.Exact && back.Cmp(n) == 0
}
