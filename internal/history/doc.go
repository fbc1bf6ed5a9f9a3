// Package history defines the events of an execution and their encoding.
//
// An execution's history is a list of events 1, 2, ... n. An event is either a message or a command. A message
// arrives: a start, a result, a timer, an external event, a cancel request. A command comes from the orchestration's
// code: schedule, start, record. The commands that code makes while it handles a message follow that message
// directly. A message in an inbox has the form of the event that it becomes. When it is applied, it gets its ID, its
// time and the flags of its envelope. Its body stays as it is, except for headers and for the delay of a start.
//
// # Encoding
//
// One byte format version, one byte kind, then fields: a varint of number<<1|type and a varint (type 0) or a length
// and bytes (type 1). Zero values are left out. A reader accepts every format up to its own. It refuses a higher
// format, kind or field with ErrNewer, so that an older node never half understands a newer history. Golden files in
// testdata pin every kind.
//
// This package does not know of storage, scheduling or Go types of users: payloads are opaque bytes.
package history
