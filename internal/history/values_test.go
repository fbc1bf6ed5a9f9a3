package history

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// plain are the fields of bytes and of texts of failures that hold nothing of the user's code, or nothing that Values is for.
var plain = []string{"Updates", "Seed", "Header", "Caller", "Seen", "NonRetryable"}

// Each event of the samples has all fields set, so that no payload of a new field is forgotten.
func TestValuesAreComplete(t *testing.T) {
	found := 0
	for _, e := range samples {
		want := payloads(reflect.ValueOf(e.Body).Elem())
		var got []string
		for _, v := range Values(e.Body) {
			if v.Bytes != nil {
				got = append(got, string(*v.Bytes))
			} else {
				got = append(got, *v.Text)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("values of a %v: %q, want %q", e.Body.Kind(), got, want)
		}
		found += len(got)
	}
	if found < 20 {
		t.Errorf("the samples have %d values, want more", found)
	}
}

// payloads returns all bytes of a struct, and the messages of its failures, except the fields that are plain.
func payloads(v reflect.Value) (out []string) {
	for i := range v.NumField() {
		field, name := v.Field(i), v.Type().Field(i).Name
		for field.Kind() == reflect.Pointer && !field.IsNil() {
			field = field.Elem()
		}
		message := name == "Message" && field.Kind() == reflect.String || v.Type() == reflect.TypeFor[Attempt]() && name == "Failure"
		switch {
		case slices.Contains(plain, name):
		case message && field.String() != "":
			out = append(out, field.String())
		case field.Kind() == reflect.Struct:
			out = append(out, payloads(field)...)
		case field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Struct:
			for n := range field.Len() {
				out = append(out, payloads(field.Index(n))...)
			}
		case field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Uint8 && field.Len() > 0:
			out = append(out, string(field.Bytes()))
		}
	}
	return out
}

// What Values returns is the place in the event.
func TestValuesMayBeChanged(t *testing.T) {
	b := &ActivityFailed{Failure: Failure{Message: "no", Details: []byte(`1`), Causes: []Failure{{Message: "why"}}}}
	for _, v := range Values(b) {
		if v.Bytes != nil {
			*v.Bytes = []byte(`2`)
		} else {
			*v.Text = strings.ToUpper(*v.Text)
		}
	}
	if f := &b.Failure; f.Message != "NO" || string(f.Details) != "2" || f.Causes[0].Message != "WHY" {
		t.Errorf("%+v", f)
	}
}
