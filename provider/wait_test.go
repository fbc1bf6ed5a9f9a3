package provider_test

import (
	"reflect"
	"testing"

	"github.com/perdure/perdure/provider"
)

// alter sets a field of plain type to another value, and a list to one with one more item.
func alter(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Uint8:
		v.SetUint(v.Uint() + 1)
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Array:
		alter(v.Index(v.Len() - 1))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), v.Len()+1, v.Len()+1))
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		} else {
			v.SetZero()
		}
	case reflect.Struct:
		alter(v.Field(0))
	default:
		panic("a mark must cover the kind " + v.Kind().String())
	}
}

func full() provider.GetResult {
	return provider.GetResult{
		Instance: provider.Instance{ID: "i", Blocked: &provider.Blocked{}, Attributes: []provider.Attribute{{}}},
		Tasks:    []provider.TaskInfo{{}}, Values: []provider.KeyValue{{Key: "k"}}, Value: &provider.KeyValue{Key: "k"},
	}
}

// A mark changes with each field of a result, except those that the contract leaves out.
func TestMarkCoversAllFields(t *testing.T) {
	t.Parallel()
	before := full()
	mark := provider.MarkOf(&before)
	for name, part := range map[string]func(*provider.GetResult) any{
		"result":    func(r *provider.GetResult) any { return r },
		"instance":  func(r *provider.GetResult) any { return &r.Instance },
		"blocked":   func(r *provider.GetResult) any { return r.Instance.Blocked },
		"attribute": func(r *provider.GetResult) any { return &r.Instance.Attributes[0] },
		"task":      func(r *provider.GetResult) any { return &r.Tasks[0] },
		"values":    func(r *provider.GetResult) any { return &r.Values[0] },
		"value":     func(r *provider.GetResult) any { return r.Value },
	} {
		fields := reflect.TypeOf(part(&before)).Elem()
		for i := range fields.NumField() {
			res := full()
			alter(reflect.ValueOf(part(&res)).Elem().Field(i))
			field := fields.Field(i).Name
			if same := provider.MarkOf(&res) == mark; same != (field == "Now" || field == "Mark" || field == "LeaseUntil" || field == "SessionOwner") {
				t.Errorf("%s.%s: the mark stays the same: %t", name, field, same)
			}
		}
	}
}
