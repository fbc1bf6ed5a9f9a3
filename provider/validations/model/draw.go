package model

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/provider"
)

// n draws a number from 0 up to less than limit. A sequence is made shorter by drawing lower
// ones, so 0 should be the plainest.
func (d *driver) n(limit int) int { return rapid.IntRange(0, limit-1).Draw(d.t, "") }

// odds is true once in so many times.
func (d *driver) odds(of int) bool { return d.n(of) == of-1 }

func pick[T any](d *driver, list ...T) T { return list[d.n(len(list))] }

// some draws a list of up to limit items.
func some[T any](d *driver, limit int, draw func() T) (list []T) {
	for range d.n(limit + 1) {
		list = append(list, draw())
	}
	return list
}

// delay draws a delay. What is short is over before the next step.
func (d *driver) delay() time.Duration {
	switch d.n(12) {
	case 10:
		return long
	case 11:
		d.brief = true
		return short
	default:
		return 0
	}
}

// lease draws the length of a lease.
func (d *driver) lease() time.Duration {
	if d.odds(6) {
		d.brief = true
		return short
	}
	return long
}

// unique numbers what must not be there twice.
func (d *driver) unique() int {
	d.counter++
	return d.counter
}

func (d *driver) payload(prefix string) []byte { return fmt.Append(nil, prefix, d.unique()) }

// commit makes a new version.
func (d *driver) commit() provider.UUID { return named('C', d.unique()) }

// token draws one of a few, so that several leases have the same.
func (d *driver) token() provider.UUID { return named('T', 1+d.n(4)) }

func (d *driver) owner() string { return pick(d, "n1", "n2") }

func (d *driver) id() string { return pick(d, "a", "b", "c", "d") }

// newKey makes a key, rarely one that is in use. That of an instance which is gone is never
// used again.
func (d *driver) newKey() provider.UUID {
	if len(d.rows) > 0 && d.odds(12) {
		return d.row().Key
	}
	d.keys++
	return named('K', d.keys)
}

// row draws an instance that is there; there must be one.
func (d *driver) row() provider.Instance { return d.rows[d.n(len(d.rows))] }

// key draws the key of an instance, rarely one that is gone or never was.
func (d *driver) key() provider.UUID {
	if len(d.rows) == 0 || d.odds(12) {
		return named('K', 1+d.n(d.keys+1))
	}
	return d.row().Key
}

// target names an instance by ID or by key.
func (d *driver) target() (id string, key provider.UUID) {
	if d.odds(3) {
		return d.id(), key
	}
	return "", d.key()
}

func (d *driver) event() int64 { return int64(1 + d.n(6)) }

// events draws up to two event IDs, in rising order, as engines give them.
func (d *driver) events() (list []int64) {
	for event := range int64(6) {
		if len(list) < 2 && d.odds(4) {
			list = append(list, event+1)
		}
	}
	return list
}

func (d *driver) message() provider.NewMessage {
	m := provider.NewMessage{Delay: d.delay(), Payload: d.payload("m")}
	if d.odds(3) {
		m.Kind, m.Execution, m.EventID = provider.MessageKind(d.n(3)), int64(d.n(3)), int64(d.n(4))
	}
	if d.odds(12) {
		m.Payload = nil
	}
	return m
}

func (d *driver) maybeMessage() *provider.NewMessage {
	if d.odds(2) {
		m := d.message()
		return &m
	}
	return nil
}

func (d *driver) parent() provider.Parent {
	if len(d.rows) == 0 || d.odds(2) {
		return provider.Parent{}
	}
	row := d.row()
	p := provider.Parent{Key: row.Key, ID: row.ID, Execution: row.Execution, EventID: d.event(), Close: provider.ClosePolicy(d.n(2))}
	if d.odds(12) {
		p.Key = d.key()
	}
	return p
}

func (d *driver) attributes() []provider.Attribute {
	return some(d, 2, func() provider.Attribute {
		a := provider.Attribute{Name: pick(d, "x", "y"), Kind: provider.AttributeInt, Number: int64(d.n(2))}
		if d.odds(3) {
			a.Kind, a.Text, a.Number = provider.AttributeText, pick(d, "s", "t"), 0
		}
		return a
	})
}

func (d *driver) create() provider.CreateRequest {
	return provider.CreateRequest{
		ID: d.id(), Key: d.newKey(), Commit: d.commit(), Name: d.kind(), CodeVersion: pick(d, "", "1"), EngineLevel: int64(d.n(3)),
		Policy: provider.IDPolicy(d.n(3)), RequestID: pick(d, "", "", "", "r1", "r2"), Parent: d.parent(), Attributes: d.attributes(),
		Message: d.message(),
	}
}

func (d *driver) kind() string { return pick(d, "x", "y") }

// capabilities are mostly all.
func (d *driver) capabilities() []provider.Capability {
	all := []provider.Capability{{Name: "x"}, {Name: "y"}, {Name: "x", CodeVersion: "1"}, {Name: "y", CodeVersion: "1"}}
	if d.odds(4) {
		return all[:d.n(len(all))]
	}
	return all
}

// level is mostly the highest.
func (d *driver) level() int64 { return int64(pick(d, 2, 2, 2, 1, 0)) }
