package payload

import (
	"reflect"
	"strings"
)

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
