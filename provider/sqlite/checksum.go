package sqlite

import (
	"fmt"
	"hash/crc32"
)

//nolint:gochecknoglobals // constant table
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is kept beside what users' work consists of, as SQLite keeps none: a flipped bit
// in bytes that still decode would change what an orchestration did.
func checksum(data []byte) int64 { return int64(crc32.Checksum(data, castagnoli)) }

// sound reads a blob and looks whether it has its checksum. A row without one is believed:
// an older release wrote it, or a person mended it.
func (r *row) sound(blob, sum int) []byte {
	data := r.blob(blob)
	if r.bad == nil && !r.null(sum) && r.int(sum) != checksum(data) {
		r.bad = fmt.Errorf("%w: column %s does not match its checksum", errRow, r.names[blob])
	}
	return data
}
