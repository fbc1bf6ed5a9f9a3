// Package measure reads what processes use of the machine. It reports a value that a system does not provide as
// unknown, never as zero.
package measure
