package replay

import (
	"maps"
	"slices"

	"github.com/perdure/perdure/provider"
)

// State is what code shows to others: columns of the instance.
type State struct {
	Status     []byte               // nil: not set; empty: cleared
	Attributes []provider.Attribute // by name
	Values     []provider.KeyValue  // by key; a nil Value is deleted
	Refused    int                  // of Turn: values and names that could not be stored
	Ended      []string             // of Turn: sessions that end with it
}

// columns are a part of the columns of an instance.
type columns struct {
	status     []byte
	attributes map[string]provider.Attribute
	values     map[string][]byte // nil: deleted
}

func (c *columns) empty() bool { return c.status == nil && len(c.values)+len(c.attributes) == 0 }

// merge sets what later has, and forgets the key-values that it deletes.
func (c *columns) merge(later *columns) {
	if later.status != nil {
		c.status = later.status
	}
	for name, a := range later.attributes {
		c.attributes = with(c.attributes, name, a)
	}
	for key, data := range later.values {
		if data == nil {
			delete(c.values, key)
			continue
		}
		c.values = with(c.values, key, data)
	}
}

// copy returns columns whose maps are others.
func (c *columns) copy() columns {
	return columns{status: c.status, attributes: maps.Clone(c.attributes), values: maps.Clone(c.values)}
}

// list sorts the columns.
func (c *columns) list() *State {
	s := &State{Status: c.status}
	for _, name := range slices.Sorted(maps.Keys(c.attributes)) {
		s.Attributes = append(s.Attributes, c.attributes[name])
	}
	for _, key := range slices.Sorted(maps.Keys(c.values)) {
		s.Values = append(s.Values, provider.KeyValue{Key: key, Value: c.values[key]})
	}
	return s
}

// size estimates the memory of the columns, in bytes.
func (c *columns) size() int {
	n := len(c.status) + namedBytes*(len(c.values)+len(c.attributes))
	for key, data := range c.values {
		n += len(key) + len(data)
	}
	for name, a := range c.attributes {
		n += len(name) + len(a.Text)
	}
	return n
}

// with sets a key of a map that may be nil.
func with[V any](m map[string]V, key string, v V) map[string]V {
	if m == nil {
		m = make(map[string]V)
	}
	m[key] = v
	return m
}
