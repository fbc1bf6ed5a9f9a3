package orchestration

import (
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/propagate"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

// maxChildAttributes is how many attributes the start of a child may set.
const maxChildAttributes = 100

type childFunc func(call *history.ChildStarted) error

func (f childFunc) applyChild(call *history.ChildStarted) error { return f(call) }

// ClosePolicy says what becomes of a running child when the execution that started it ends: when its function returns, it continues as
// new, or it is terminated.
type ClosePolicy int

const (
	// CloseCancel asks the child to stop in its own way. This is the default.
	CloseCancel ClosePolicy = history.CloseCancel
	// CloseAbandon leaves the child alone. Nobody is told of its end then. It remains a child: client.Handle.Delete of the parent
	// refuses while it runs, and removes it with the parent.
	CloseAbandon ClosePolicy = history.CloseAbandon
)

// WithClosePolicy says what becomes of the child when this execution ends. It is stored with the call. It says nothing about a scope that is
// cancelled, as all are when the instance is: see [WithCancellation]. A child that neither stops has both options, with CloseAbandon and [Abandon].
func WithClosePolicy(p ClosePolicy) ChildOption {
	return childFunc(func(call *history.ChildStarted) error {
		if p < CloseCancel || p > CloseAbandon {
			return fmt.Errorf("close policy is %d: give CloseCancel or CloseAbandon", p)
		}
		call.Close = int64(p)
		return nil
	})
}

// WithAttribute sets an attribute with which the child, or the instance of [StartDetached], begins. Lists of instances can be filtered on it. It
// has the rules of [SetAttribute], which replaces it: names that begin with "perdure." are reserved, and a start may set 100. The last value given
// for a name counts.
func WithAttribute[V AttributeValue](name string, v V) InstanceOption {
	return attributeOption(func(list []history.Attribute) ([]history.Attribute, error) {
		if err := check.Name("attribute name", name); err != nil {
			return list, err
		}
		if reserved.Name(name) {
			return list, fmt.Errorf("attribute name %s begins with %q, which is reserved: choose another one", check.Quote(name), reserved.NamePrefix)
		}
		a, err := bind.Attribute(name, v)
		if err != nil {
			return list, err
		}
		list = slices.DeleteFunc(list, func(b history.Attribute) bool { return b.Name == name })
		if len(withoutLimit(slices.Clone(list))) == maxChildAttributes {
			return list, fmt.Errorf("attribute %s: a start may set %d", check.Quote(name), maxChildAttributes)
		}
		return append(list, history.Attribute{Name: a.Name, Kind: int64(a.Kind), Text: a.Text, Number: a.Number}), nil
	})
}

// attributeOption changes the attributes with which an instance begins.
type attributeOption func(list []history.Attribute) ([]history.Attribute, error)

func (o attributeOption) applyChild(call *history.ChildStarted) (err error) {
	call.Attributes, err = o(call.Attributes)
	return err
}

func (o attributeOption) applyDetached(call *history.DetachedStarted) (err error) {
	call.Attributes, err = o(call.Attributes)
	return err
}

// WithTimeLimit ends the child, or the instance of [StartDetached], d after its start, over all of its executions. It is cancelled then, and
// terminated a minute later if it still runs. Its code sees ErrCancelled. If a child ends without an output after its limit, the error of the
// call is ErrTimeout, too. d is more than zero and at most 100 years. The time counts from the call, and the time while the instance is
// suspended or blocked counts. See client.WithTimeLimit for who enforces it.
//
// [Context.WithTimeout] bounds the wait of the parent instead, and needs a timer of its history.
func WithTimeLimit(d time.Duration) InstanceOption {
	return attributeOption(func(list []history.Attribute) ([]history.Attribute, error) {
		if d <= 0 || d > reserved.MaxLimit {
			return list, fmt.Errorf("time limit is %v: give more than zero and at most 100 years", d)
		}
		return append(withoutLimit(list), history.Attribute{
			Name: reserved.LimitAttribute, Kind: int64(provider.AttributeText), Number: d.Microseconds(),
		}), nil
	})
}

func withoutLimit(list []history.Attribute) []history.Attribute {
	return slices.DeleteFunc(list, func(a history.Attribute) bool { return a.Name == reserved.LimitAttribute })
}

// beginLimit makes a time limit count from now on.
func beginLimit(list []history.Attribute, now time.Time) {
	for i := range list {
		if a := &list[i]; a.Name == reserved.LimitAttribute {
			limit := reserved.Limit{For: time.Duration(a.Number) * time.Microsecond, Grace: reserved.DefaultGrace}
			a.Text, a.Number = limit.From(now).String(), 0
		}
	}
}

// WithHeader adds a key to the header of the child, which otherwise has that of this instance. The last value given for a key counts, and counts
// before that of this instance. See package header for what may be in one. A header is never worth a failed call: what both add up to is left out,
// logged and counted if it is larger than one header may be.
func WithHeader(key, value string) ChildOption {
	return childFunc(func(call *history.ChildStarted) error {
		header := history.DecodeHeader(call.Header)
		if header == nil {
			header = make(map[string]string, 1)
		}
		header[key] = value
		call.Header = history.EncodeHeader(header)
		return propagate.Check(header)
	})
}
