package bind

import (
	"fmt"
	"reflect"
	"time"

	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/provider"
)

// Attribute returns an attribute in the storage's form. v is a string, an integer, a bool or a time.Time, or of a type of
// theirs. With an error only the name is set.
func Attribute(name string, v any) (provider.Attribute, error) {
	a := provider.Attribute{Name: name}
	if t, ok := v.(time.Time); ok {
		if year := t.UTC().Year(); year < 1 || year > 9999 {
			return a, fmt.Errorf("attribute %s is in the year %d: give 1 to 9999", check.Quote(name), year)
		}
		a.Kind, a.Number = provider.AttributeInstant, int64(provider.TimeOf(t))
		return a, nil
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.String:
		if err := check.OptionalName("attribute "+check.Quote(name), r.String()); err != nil {
			return a, err
		}
		a.Kind, a.Text = provider.AttributeText, r.String()
	case reflect.Int, reflect.Int64:
		a.Kind, a.Number = provider.AttributeInt, r.Int()
	case reflect.Bool:
		a.Kind = provider.AttributeBool
		if r.Bool() {
			a.Number = 1
		}
	default:
		return a, fmt.Errorf("attribute %s is a %T: give a string, int, int64, bool or time.Time", check.Quote(name), v)
	}
	return a, nil
}

// AttributeValue returns the value of a stored attribute: a string, int64, bool or time.Time.
func AttributeValue(a *provider.Attribute) any {
	switch a.Kind {
	case provider.AttributeInt:
		return a.Number
	case provider.AttributeBool:
		return a.Number != 0
	case provider.AttributeInstant:
		return provider.Time(a.Number).Std()
	default:
		return a.Text
	}
}
