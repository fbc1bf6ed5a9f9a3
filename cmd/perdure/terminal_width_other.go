//go:build !linux && !darwin && !freebsd

package main

// terminalWidth returns 0: how many columns the terminal of a stream has is not known.
func terminalWidth(any) int { return 0 }
