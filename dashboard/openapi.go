package dashboard

import (
	_ "embed"
)

// openAPI is the description of the API for programs. A test makes it from the table of routes, and compares it.
//
//go:embed openapi.json
var openAPIFile []byte

func (c *call) openAPI() error {
	c.w.Header().Set("Content-Type", "application/json")
	_, _ = c.w.Write(openAPIFile)
	return nil
}
