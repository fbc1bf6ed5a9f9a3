// Package shared has an example that uses what another test declares.
package shared
