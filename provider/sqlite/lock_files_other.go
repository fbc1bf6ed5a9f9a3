//go:build !unix

package sqlite

import "os"

// noFollow is not needed where files inherit their rights from the directory.
const noFollow = 0

// shareAs does nothing where files inherit their rights from the directory.
func shareAs(*os.File, os.FileInfo) {}
