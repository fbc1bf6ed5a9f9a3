package client

import (
	"sync"

	"github.com/perdure/perdure/internal/access"
)

// A storage is the store of a client.
type storage struct {
	*access.Store

	noHeaders sync.Once // the log has said that headers are left out
}
