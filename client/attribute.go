package client

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// maxAttributes is how many attributes a start may set.
const maxAttributes = 100

// WithAttribute sets an attribute of the new instance, which lists can be filtered on. It has the rules of
// orchestration.SetAttribute, which replaces it: names that begin with "perdure." are reserved, and a start may set 100. The last
// value given for a name counts. An instance that exists already, as with [UseExisting], keeps its attributes.
func WithAttribute[V orchestration.AttributeValue](name string, v V) StartOption {
	a, err := attribute(name, v)
	return startFunc(func(o *startOptions) error {
		if err != nil {
			return err
		}
		o.attributes = slices.DeleteFunc(o.attributes, func(b provider.Attribute) bool { return b.Name == name })
		if len(o.attributes) == maxAttributes {
			return fmt.Errorf("%w: attribute %s: a start may set %d", ErrTooLarge, check.Quote(name), maxAttributes)
		}
		o.attributes = append(o.attributes, a)
		return nil
	})
}

// attribute checks an attribute and returns it in the storage's form.
func attribute(name string, v any) (provider.Attribute, error) {
	if err := access.Name("attribute name", name); err != nil {
		return provider.Attribute{}, err
	}
	if strings.HasPrefix(name, "perdure.") {
		return provider.Attribute{}, fmt.Errorf("%w: attribute name %s begins with \"perdure.\", which is reserved: choose another one",
			ErrInvalid, check.Quote(name))
	}
	a, err := bind.Attribute(name, v)
	return a, access.Invalid(err)
}

// AttributeFilter is a condition on an attribute; see [Filter]. The zero value is refused.
type AttributeFilter struct {
	match provider.AttributeMatch
	err   error
}

// AttributeIs selects instances whose attribute is one of the values. It must be of their type, too. An int is an int64.
func AttributeIs[V orchestration.AttributeValue](name string, values ...V) AttributeFilter {
	f := AttributeFilter{match: provider.AttributeMatch{Name: name}}
	if len(values) == 0 || len(values) > provider.MaxBatch {
		f.err = fmt.Errorf("%w: filter on attribute %s has %d values: give 1 to %d", ErrInvalid, check.Quote(name), len(values), provider.MaxBatch)
	}
	for _, v := range values {
		f.match.Any = append(f.match.Any, *f.value(v))
	}
	return f
}

// AttributeFrom selects instances whose attribute is at least from.
func AttributeFrom[V orchestration.AttributeValue](name string, from V) AttributeFilter {
	f := AttributeFilter{match: provider.AttributeMatch{Name: name}}
	f.match.From = f.value(from)
	return f
}

// AttributeBelow selects instances whose attribute is less than to. Together with AttributeFrom it selects a range.
func AttributeBelow[V orchestration.AttributeValue](name string, to V) AttributeFilter {
	f := AttributeFilter{match: provider.AttributeMatch{Name: name}}
	f.match.To = f.value(to)
	return f
}

// AttributePrefix selects instances whose attribute is a text that begins with the prefix.
func AttributePrefix(name, prefix string) AttributeFilter {
	f := AttributeFilter{match: provider.AttributeMatch{Name: name, Prefix: prefix}}
	f.value(prefix)
	return f
}

// value checks a value and returns it in the storage's form.
func (f *AttributeFilter) value(v any) *provider.AttributeValue {
	err := access.Name("filter attribute", f.match.Name)
	a, bad := bind.Attribute(f.match.Name, v)
	f.err = cmp.Or(f.err, err, access.Invalid(bad))
	f.match.Kind = a.Kind
	return &provider.AttributeValue{Text: a.Text, Number: a.Number}
}
