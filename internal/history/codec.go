package history

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
)

// formatVersion is the highest format that this release reads, and the one it writes.
const formatVersion = 1

var (
	// ErrNewer means that the bytes were written by a newer release.
	ErrNewer = errors.New("written by a newer release of perdure: upgrade this node")
	// ErrCorrupt means that the bytes are no encoding of any release.
	ErrCorrupt = errors.New("corrupt encoding")
)

// maxFields bounds the fields of one record, so that decoding needs no map. Releases before level 12 know lastField of them: to them a higher
// number is of a newer release.
const (
	maxFields = 25
	lastField = 24
)

// maxDepth bounds nested records (failure causes), also against hostile input.
const maxDepth = 24

const (
	wireVarint = 0
	wireBytes  = 1
)

// record is a struct that lists its fields once, for both directions.
type record interface {
	fields(c *codec)
}

// codec walks the fields of a record, writing or reading them.
type codec struct {
	writing bool
	out     []byte

	values  *[maxFields + 1]value // by field number; nil while writing
	pending int                   // values not yet asked for
	depth   int
	err     error
}

// valuePool saves an allocation of a kilobyte for each record that is decoded.
//
//nolint:gochecknoglobals // a cache without content
var valuePool = sync.Pool{New: func() any { return new([maxFields + 1]value) }}

type value struct {
	set   bool
	wire  byte
	num   uint64
	bytes []byte
}

func appendRecord(out []byte, r record) []byte {
	c := codec{writing: true, out: out}
	r.fields(&c)
	return c.out
}

func decodeRecord(data []byte, r record, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("records nested deeper than %d: %w", maxDepth, ErrCorrupt)
	}
	values := valuePool.Get().(*[maxFields + 1]value) //nolint:forcetypeassert // the pool holds nothing else
	defer func() {
		clear(values[:])
		valuePool.Put(values)
	}()
	c := codec{depth: depth, values: values}
	if err := c.scan(data); err != nil {
		return err
	}
	r.fields(&c)
	if c.err == nil && c.pending > 0 {
		return fmt.Errorf("unknown field: %w", ErrNewer)
	}
	return c.err
}

// scan splits data into numbered values. A field number that may repeat is not used in
// this format: lists are nested records.
func (c *codec) scan(data []byte) error {
	for len(data) > 0 {
		tag, n := binary.Uvarint(data)
		if n <= 0 {
			return fmt.Errorf("bad field tag: %w", ErrCorrupt)
		}
		data = data[n:]
		number := tag >> 1
		if number == 0 {
			return fmt.Errorf("field number 0: %w", ErrCorrupt)
		}
		if number > maxFields {
			return fmt.Errorf("unknown field %d: %w", number, ErrNewer)
		}
		num, n := binary.Uvarint(data)
		if n <= 0 {
			return fmt.Errorf("bad value of field %d: %w", number, ErrCorrupt)
		}
		data = data[n:]
		v := &c.values[number]
		if v.set {
			return fmt.Errorf("field %d twice: %w", number, ErrCorrupt)
		}
		*v = value{set: true, wire: byte(tag & 1), num: num}
		if v.wire == wireBytes {
			if num > uint64(len(data)) {
				return fmt.Errorf("field %d longer than the record: %w", number, ErrCorrupt)
			}
			v.bytes = data[:num:num]
			data = data[num:]
		}
		c.pending++
	}
	return nil
}

func (c *codec) take(number int, wire byte) (value, bool) {
	v := &c.values[number]
	if !v.set {
		return value{}, false
	}
	c.pending--
	if v.wire != wire {
		c.fail(fmt.Errorf("field %d has the wrong type: %w", number, ErrCorrupt))
		return value{}, false
	}
	return *v, true
}

func (c *codec) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

func (c *codec) putVarint(number int, v uint64) {
	c.out = binary.AppendUvarint(c.out, uint64(number)<<1|wireVarint)
	c.out = binary.AppendUvarint(c.out, v)
}

func (c *codec) putHeader(number, length int) {
	c.out = binary.AppendUvarint(c.out, uint64(number)<<1|wireBytes)
	c.out = binary.AppendUvarint(c.out, uint64(length))
}

// integer is a signed field, zigzag encoded so that small negative numbers stay small.
func (c *codec) integer(number int, p *int64) {
	if c.writing {
		if *p != 0 {
			c.putVarint(number, uint64(*p)<<1^uint64(*p>>63))
		}
		return
	}
	if v, ok := c.take(number, wireVarint); ok {
		*p = int64(v.num>>1) ^ -int64(v.num&1)
	}
}

func (c *codec) boolean(number int, p *bool) {
	if c.writing {
		if *p {
			c.putVarint(number, 1)
		}
		return
	}
	if v, ok := c.take(number, wireVarint); ok {
		if v.num != 1 {
			c.fail(fmt.Errorf("field %d is no boolean: %w", number, ErrCorrupt))
			return
		}
		*p = true
	}
}

func (c *codec) text(number int, p *string) {
	if c.writing {
		if *p != "" {
			c.putHeader(number, len(*p))
			c.out = append(c.out, *p...)
		}
		return
	}
	if v, ok := c.take(number, wireBytes); ok {
		*p = string(v.bytes)
	}
}

// payload is an opaque field. Decoding does not copy: the event shares the bytes that it
// was decoded from. nil and empty are the same.
func (c *codec) payload(number int, p *[]byte) {
	if c.writing {
		if len(*p) > 0 {
			c.putHeader(number, len(*p))
			c.out = append(c.out, *p...)
		}
		return
	}
	if v, ok := c.take(number, wireBytes); ok {
		*p = v.bytes
	}
}

func (c *codec) uuid(number int, p *[16]byte) {
	if c.writing {
		if *p != [16]byte{} {
			c.putHeader(number, len(*p))
			c.out = append(c.out, p[:]...)
		}
		return
	}
	if v, ok := c.take(number, wireBytes); ok {
		if copy(p[:], v.bytes) != len(p) || len(v.bytes) != len(p) {
			c.fail(fmt.Errorf("field %d is no UUID: %w", number, ErrCorrupt))
		}
	}
}

// nested is a record within a record.
func (c *codec) nested(number int, r record) {
	if c.writing {
		body := appendRecord(nil, r)
		if len(body) > 0 {
			c.putHeader(number, len(body))
			c.out = append(c.out, body...)
		}
		return
	}
	if v, ok := c.take(number, wireBytes); ok {
		if err := decodeRecord(v.bytes, r, c.depth+1); err != nil {
			c.fail(fmt.Errorf("field %d: %w", number, err))
		}
	}
}

// list is a counted list of byte strings in one field.
func (c *codec) list(number int, p *[][]byte) {
	if c.writing {
		if len(*p) == 0 {
			return
		}
		var body []byte
		for _, item := range *p {
			body = binary.AppendUvarint(body, uint64(len(item)))
			body = append(body, item...)
		}
		c.putHeader(number, len(body))
		c.out = append(c.out, body...)
		return
	}
	v, ok := c.take(number, wireBytes)
	if !ok {
		return
	}
	for rest := v.bytes; len(rest) > 0; {
		size, n := binary.Uvarint(rest)
		if n <= 0 || size > uint64(len(rest)-n) {
			c.fail(fmt.Errorf("field %d is no list: %w", number, ErrCorrupt))
			return
		}
		end := n + int(size)
		*p = append(*p, rest[n:end:end])
		rest = rest[end:]
	}
}

// records is a list of nested records.
func records[T any, P interface {
	*T
	record
}](c *codec, number int, p *[]T) {
	if c.writing {
		items := make([][]byte, len(*p))
		for i := range *p {
			items[i] = appendRecord(nil, P(&(*p)[i]))
		}
		c.list(number, &items)
		return
	}
	var items [][]byte
	c.list(number, &items)
	for _, item := range items {
		var one T
		if err := decodeRecord(item, P(&one), c.depth+1); err != nil {
			c.fail(err)
			return
		}
		*p = append(*p, one)
	}
}
