package provider

import "context"

// Backuper is implemented by providers that can copy their store while nodes use it.
type Backuper interface {
	// Backup writes a copy of the whole store to the file at path, which must not exist. The copy is one state of the store, with
	// everything that was durable before the call. Other calls continue meanwhile. The file is durable when the call
	// returns. A failed call leaves no file.
	Backup(ctx context.Context, path string) error
}
