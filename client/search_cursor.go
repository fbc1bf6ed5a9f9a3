package client

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"github.com/perdure/perdure/provider"
)

// searchCursor is where a page of a search begins.
type searchCursor struct {
	sum   [8]byte       // of the search, so that it is of no other
	now   provider.Time // by which relative times were made absolute; 0: not known
	after *place        // of a search with several branches
	store string        // the cursor of the store, of others
}

// The first byte of a cursor says what follows sum and now.
const (
	cursorStore = 's'
	cursorPlace = 'p'
)

// sum identifies a search.
func (s Search) sum() (sum [8]byte) {
	whole := sha256.Sum256([]byte(s.String()))
	return [8]byte(whole[:])
}

// String returns the cursor as callers have it.
func (c searchCursor) String() string {
	kind := byte(cursorStore)
	if c.after != nil {
		kind = cursorPlace
	}
	b := append([]byte{kind}, c.sum[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(c.now))
	if c.after != nil {
		b = append(binary.BigEndian.AppendUint64(b, uint64(c.after.at)), c.after.key[:]...)
	} else {
		b = append(b, c.store...)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// parseSearchCursor parses what String returns.
func parseSearchCursor(text string) (c searchCursor, err error) {
	const head = 1 + len(c.sum) + 8
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) < head {
		return c, fmt.Errorf("%w: %w", ErrInvalid, errSearchCursor)
	}
	copy(c.sum[:], b[1:])
	c.now = provider.Time(binary.BigEndian.Uint64(b[head-8:]))
	rest := b[head:]
	switch {
	case b[0] == cursorStore && len(rest) > 0:
		c.store = string(rest)
	case b[0] == cursorPlace && len(rest) == 8+len(provider.UUID{}):
		c.after = &place{at: provider.Time(binary.BigEndian.Uint64(rest)), key: provider.UUID(rest[8:])}
	default:
		return c, fmt.Errorf("%w: %w", ErrInvalid, errSearchCursor)
	}
	return c, nil
}
