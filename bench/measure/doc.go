// Package measure reads what processes use of the machine. What cannot be read on a system is
// answered as not known, never as zero.
package measure
