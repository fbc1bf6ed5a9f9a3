package engine

import (
	"maps"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// originTag is no less than the bytes by which a payload grows beyond its origin.
const originTag = 16

// maxHeader is header.MaxBytes. The engine's own trace comes on top.
const maxHeader = 4 << 10

// added is what translation adds to what an execution sends. Its code knows nothing of it, and the events have none of it.
type added struct {
	view    replay.View
	on      bool // the store allows messages that older nodes cannot read
	headers int  // bytes of headers so far
	origins int  // bytes of origins without a header so far
	leftOut int  // headers
}

// header returns the header for a message, or none if those of the commit are too large together.
func (d *added) header() []byte {
	header := d.view.Header()
	if !d.on || len(header) == 0 {
		return nil
	}
	if d.headers+len(header) > replay.MaxHeaders {
		d.leftOut++
		return nil
	}
	d.headers += len(header)
	return header
}

// childHeader returns the header of a child: that of its parent with what the call has added. If both do not fit into one header, or into
// the commit, what the call has added is left out.
func (d *added) childHeader(own []byte) []byte {
	if !d.on || len(own) == 0 {
		return d.header()
	}
	all := history.DecodeHeader(d.view.Header())
	if all == nil {
		all = make(map[string]string)
	}
	maps.Copy(all, history.DecodeHeader(own))
	trace := all[history.TraceKey]
	delete(all, history.TraceKey)
	header := history.EncodeHeader(all)
	fits := len(header) <= maxHeader
	if trace != "" {
		header = history.WithHeaderValue(header, history.TraceKey, trace)
	}
	if !fits || d.headers+len(header) > replay.MaxHeaders {
		d.leftOut++
		return d.header()
	}
	d.headers += len(header)
	return header
}

// task returns the payload of a task, and what it says of its execution. Without room that is nothing.
func (d *added) task(scheduled []byte) (payload, origin []byte) {
	if origin = d.origin(); origin == nil || len(scheduled)+len(origin)+originTag > provider.MaxPayload {
		return scheduled, nil
	}
	return history.AppendOrigin(scheduled, origin), origin
}

func (d *added) origin() []byte {
	if !d.on {
		return nil
	}
	origin, header := d.view.EncodedCaller(), d.view.Header()
	if len(header) > 0 && d.header() == nil {
		info := d.view.Info()
		origin, header = history.EncodeCaller(history.Caller{Name: info.Name, CodeVersion: info.CodeVersion}), nil
	}
	plain := len(origin) - len(header)
	if d.origins+plain > MaxOrigins {
		return nil
	}
	d.origins += plain
	return origin
}

// root returns the topmost ancestor of a child, if its start event names it. A start event with a root needs
// level 8, as one with began does. So both are left out on a store that does not allow that level.
func (d *added) root() history.Root {
	if !d.on {
		return history.Root{}
	}
	return d.view.Root()
}

// began returns when the first execution began, if the start event of the next one says so; 0: it does not.
func (d *added) began() int64 {
	if !d.on {
		return 0
	}
	return d.view.Began()
}
