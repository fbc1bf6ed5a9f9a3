package core

import "strings"

// Plain returns a text that every storage accepts: at most limit bytes, valid UTF-8 and without NUL. A report refused for its text would be
// retried for ever.
func Plain(text string, limit int) string {
	text = strings.ReplaceAll(text[:min(len(text), limit)], "\x00", "\uFFFD")
	text = strings.ToValidUTF8(text, "")
	for len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "")
	}
	return text
}

// StorageError is a failure of the storage, not of the turn.
type StorageError struct{ Err error }

func (e *StorageError) Error() string { return e.Err.Error() }

func (e *StorageError) Unwrap() error { return e.Err }
