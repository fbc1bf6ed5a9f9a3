package sqlite

import (
	"fmt"
	"hash/crc32"
)

//nolint:gochecknoglobals // constant table
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is stored with users' data, because SQLite stores none. A flipped bit in bytes that still decode would change what
// an orchestration did.
func checksum(data []byte) int64 { return int64(crc32.Checksum(data, castagnoli)) }

// sound reads a blob and verifies its checksum. A row without one is trusted: an older release wrote it, or an operator
// repaired it.
func (r *row) sound(blob, sum int) []byte {
	data := r.blob(blob)
	if r.bad == nil && !r.null(sum) && r.int(sum) != checksum(data) {
		r.bad = fmt.Errorf("%w: column %s does not match its checksum", errRow, r.names[blob])
	}
	return data
}
