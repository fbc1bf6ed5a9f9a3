package orchestration

import (
	"time"

	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/payload"
)

// AttributeValue lists the types of attributes. An int is stored as an int64, and a time in microseconds.
type AttributeValue interface {
	~string | ~int | ~int64 | ~bool | time.Time
}

// SetStatus shows v to everybody outside as the status of the instance, such as its progress. client.StatusOf reads it. A
// later call replaces it. v is stored as JSON, at most 16 KiB, together with what the code does until it waits. A v that is
// encoded as null clears the status.
//
// SetStatus, [SetValue] and [SetAttribute] return nothing, and code cannot read back what they set: otherwise it would
// depend on what is in no history. They make no event, and a replay stores nothing again. A value that cannot be stored is
// replaced by a note that says why. The log has it once, and Stats.StateRefused counts it.
//
// A status, value or attribute stays when the instance ends or continues as new, until it is set again.
func (c *Context) SetStatus(v any) {
	scope := c.engine()
	data, err := payload.EncodeExact(v)
	scope.SetStatus(data, err)
}

// SetValue stores v under a key of the instance for everybody outside. client.Value reads it. A later call with the key replaces
// it. v is stored as JSON, at most 64 KiB, and a v that is encoded as null deletes the key. An execution may have 100 keys at a
// time, each of 1 to 512 bytes of UTF-8 without NUL. Keys that begin with "perdure." are reserved. With a key that is not
// allowed, or with one too many, nothing is stored. See [Context.SetStatus] for all else.
func SetValue(ctx *Context, key string, v any) {
	scope := ctx.engine()
	data, err := payload.EncodeExact(v)
	scope.SetValue(key, data, err)
}

// SetAttribute sets an attribute of the instance, which lists of instances can be filtered on; see client.Filter. A later
// call with the name replaces value and type. An attribute cannot be removed. A text has at most 512 bytes of UTF-8 without NUL,
// and a time is in the years 1 to 9999. An execution may set 100 attributes. Their names have the rules of the keys of
// [SetValue]. See [Context.SetStatus] for all else.
func SetAttribute[V AttributeValue](ctx *Context, name string, v V) {
	scope := ctx.engine()
	scope.SetAttribute(bind.Attribute(name, v))
}
