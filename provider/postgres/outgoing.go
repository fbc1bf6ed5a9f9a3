package postgres

import (
	"encoding/binary"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/perdure/perdure/provider"
)

// The store encodes statements itself. The driver would look up how to encode each parameter, encode each array twice,
// and drop its buffer after each batch.

// outgoing is the buffer of messages to send on a connection. The connection keeps it.
type outgoing struct {
	conn     *pgx.Conn
	prepared map[string]*pgconn.StatementDescription // statements that the connection has prepared, by their text
	bytes    []byte
}

// maxOutgoing is how many bytes a server accepts before its answers are read, and how large a buffer a connection
// keeps.
const maxOutgoing = 64 << 10

// outgoingOn returns the empty buffer of a connection.
func outgoingOn(conn *pgx.Conn) *outgoing {
	const name = "perdure"
	kept := conn.PgConn().CustomData()
	out, ok := kept[name].(*outgoing)
	if !ok {
		out = &outgoing{conn: conn, prepared: make(map[string]*pgconn.StatementDescription)}
		kept[name] = out
	}
	if out.bytes = out.bytes[:0]; cap(out.bytes) > 2*maxOutgoing {
		out.bytes = nil
	}
	return out
}

// add adds a prepared statement, with all parameters and columns in the binary format.
func (o *outgoing) add(sql string, args []any) (*pgconn.StatementDescription, error) {
	known := o.prepared[sql]
	if len(args) != len(known.ParamOIDs) {
		return nil, fmt.Errorf("%d parameters where %d are wanted: %w", len(args), len(known.ParamOIDs), provider.ErrInvalid)
	}
	bind := o.begin('B')
	o.bytes = append(o.bytes, 0) // the unnamed portal
	o.bytes = append(append(o.bytes, known.Name...), 0)
	o.bytes = append(o.bytes, 0, 1, 0, pgtype.BinaryFormatCode)
	o.bytes = binary.BigEndian.AppendUint16(o.bytes, uint16(len(args)))
	for i, arg := range args {
		if err := o.parameter(known.ParamOIDs[i], arg); err != nil {
			return nil, fmt.Errorf("parameter %d: %w", i+1, err)
		}
	}
	o.bytes = append(o.bytes, 0, 1, 0, pgtype.BinaryFormatCode)
	o.end(bind)
	execute := o.begin('E')
	o.bytes = append(o.bytes, 0, 0, 0, 0, 0) // all rows of the unnamed portal
	o.end(execute)
	return known, nil
}

// send sends what was added, and makes the server answer.
func (o *outgoing) send() error {
	o.end(o.begin('S'))
	n, err := o.conn.PgConn().Conn().Write(o.bytes)
	if err != nil {
		return &unanswered{cause: err, unsent: n == 0}
	}
	return nil
}

func (o *outgoing) begin(kind byte) (length int) {
	o.bytes = append(o.bytes, kind)
	return o.size()
}

// size reserves the length of what follows.
func (o *outgoing) size() (at int) {
	o.bytes = append(o.bytes, 0, 0, 0, 0)
	return len(o.bytes) - 4
}

// end fills in a length that counts itself.
func (o *outgoing) end(at int) { binary.BigEndian.PutUint32(o.bytes[at:], uint32(len(o.bytes)-at)) }

// filled fills in a length that does not count itself.
func (o *outgoing) filled(at int) {
	binary.BigEndian.PutUint32(o.bytes[at:], uint32(len(o.bytes)-at-4))
}

// null is the length of no value.
const null = 1<<32 - 1

// parameter encodes a parameter by the type that the statement gives it.
func (o *outgoing) parameter(oid uint32, arg any) error {
	var known bool
	switch v := arg.(type) {
	case []pgtype.UUID:
		known = array(o, oid, pgtype.UUIDArrayOID, pgtype.UUIDOID, v)
	case []int64:
		known = array(o, oid, pgtype.Int8ArrayOID, pgtype.Int8OID, v)
	case []int16:
		known = array(o, oid, pgtype.Int2ArrayOID, pgtype.Int2OID, v)
	case []string:
		known = array(o, oid, pgtype.TextArrayOID, pgtype.TextOID, v)
	case []bool:
		known = array(o, oid, pgtype.BoolArrayOID, pgtype.BoolOID, v)
	case [][]byte:
		known = array(o, oid, pgtype.ByteaArrayOID, pgtype.ByteaOID, v)
	case []pgtype.Uint32:
		known = array(o, oid, pgtype.XIDArrayOID, pgtype.XIDOID, v)
	case pgtype.UUID:
		known = o.value(oid, &v)
	case int64:
		known = o.value(oid, &v)
	case int16:
		known = o.value(oid, &v)
	case int:
		n := int64(v)
		known = o.value(oid, &n)
	case pgtype.Uint32:
		known = o.value(oid, &v)
	case bool:
		known = o.value(oid, &v)
	case string:
		known = o.value(oid, &v)
	case []byte:
		known = o.value(oid, &v)
	}
	if known {
		return nil
	}
	return o.otherwise(oid, arg)
}

// array encodes a list. It returns false if the statement wants another form.
func array[T any](o *outgoing, oid, listOf, of uint32, list []T) bool {
	if oid != listOf || len(list) == 0 {
		return false
	}
	at := o.size()
	for _, n := range [...]uint32{1, 1, of, uint32(len(list)), 1} { // dimensions, nulls, type, length, first index
		o.bytes = binary.BigEndian.AppendUint32(o.bytes, n)
	}
	for i := range list {
		o.value(of, &list[i])
	}
	o.filled(at)
	return true
}

// value encodes what a pointer refers to, so that no value escapes to the heap. It returns false if the statement wants
// another form.
func (o *outgoing) value(oid uint32, at any) bool {
	switch v := at.(type) {
	case *pgtype.UUID:
		if !v.Valid {
			return o.null()
		}
		return oid == pgtype.UUIDOID && o.raw(v.Bytes[:])
	case *int64:
		return o.integer(oid, *v)
	case *int16:
		return o.integer(oid, int64(*v))
	case *pgtype.Uint32:
		return oid == pgtype.XIDOID && v.Valid && o.number(4, uint64(v.Uint32))
	case *bool:
		var b uint64
		if *v {
			b = 1
		}
		return oid == pgtype.BoolOID && o.number(1, b)
	case *string:
		if oid != pgtype.TextOID {
			return false
		}
		o.bytes = append(binary.BigEndian.AppendUint32(o.bytes, uint32(len(*v))), *v...)
		return true
	case *[]byte:
		if *v == nil {
			return o.null()
		}
		return oid == pgtype.ByteaOID && o.raw(*v)
	}
	return false
}

func (o *outgoing) null() bool {
	o.bytes = binary.BigEndian.AppendUint32(o.bytes, null)
	return true
}

func (o *outgoing) raw(v []byte) bool {
	o.bytes = append(binary.BigEndian.AppendUint32(o.bytes, uint32(len(v))), v...)
	return true
}

// integer encodes a number in the required width, if it fits.
func (o *outgoing) integer(oid uint32, v int64) bool {
	switch oid {
	case pgtype.Int8OID:
		return o.number(8, uint64(v))
	case pgtype.Int4OID:
		return int64(int32(v)) == v && o.number(4, uint64(v))
	case pgtype.Int2OID:
		return int64(int16(v)) == v && o.number(2, uint64(v))
	}
	return false
}

// number appends the last bytes of v.
func (o *outgoing) number(width int, v uint64) bool {
	o.bytes = binary.BigEndian.AppendUint32(o.bytes, uint32(width))
	for shift := 8 * (width - 1); shift >= 0; shift -= 8 {
		o.bytes = append(o.bytes, byte(v>>shift))
	}
	return true
}

// otherwise makes the driver encode everything else.
func (o *outgoing) otherwise(oid uint32, v any) error {
	at := o.size()
	written, err := o.conn.TypeMap().Encode(oid, pgtype.BinaryFormatCode, v, o.bytes)
	if err != nil {
		return err
	}
	if written == nil {
		binary.BigEndian.PutUint32(o.bytes[at:], null)
		return nil
	}
	o.bytes = written
	o.filled(at)
	return nil
}
