package leaktest

import (
	"os"
	"path/filepath"
)

// openFiles lists the files of stores that this process has open.
func openFiles() (files []string) {
	descriptors, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return []string{"unknown: " + err.Error()}
	}
	for _, d := range descriptors {
		// One link is gone: that of the directory itself.
		if path, err := os.Readlink(filepath.Join("/proc/self/fd", d.Name())); err == nil && ofStore(path) {
			files = append(files, path)
		}
	}
	return files
}
