package leaktest

import "strings"

// ofStore reports whether a path is a store's database or one of its other files, deleted or not.
func ofStore(path string) bool {
	name := strings.TrimSuffix(path[strings.LastIndexByte(path, '/')+1:], " (deleted)")
	_, suffix, found := strings.Cut(name, ".db")
	return found && (suffix == "" || suffix[0] == '-')
}
