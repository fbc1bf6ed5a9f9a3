// Package alias has another name for the type of package orchestration.
package alias

import "github.com/perdure/perdure/orchestration"

// Context is the type of package orchestration.
type Context = orchestration.Context
