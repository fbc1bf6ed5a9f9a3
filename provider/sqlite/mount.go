package sqlite

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/perdure/perdure/provider"
)

// checkMount refuses a file that is mounted alone, as by docker -v ./orders.db:/orders.db. Its log lies in the container and is gone
// with it, and each container has another one.
func checkMount(path string) error {
	list, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil // no system with such mounts
	}
	defer list.Close() //nolint:errcheck // it is only read
	if !mounted(list, path) {
		return nil
	}
	return fmt.Errorf("the file is a mount point of its own, so its log (-wal) is not beside the real file, and commits would be lost: %w: "+
		"mount the directory, never the file, or set Options.MountedFile (for commands %s=1) if nothing else opens it",
		provider.ErrInvalid, "PERDURE_MOUNTED_FILE")
}

// mounted reports whether a list in the form of /proc/self/mountinfo has a path as a mount point.
func mounted(list io.Reader, path string) bool {
	plain := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	lines := bufio.NewReader(list)
	for {
		line, err := lines.ReadString('\n')
		if f := strings.Fields(line); len(f) > 4 && plain.Replace(f[4]) == path {
			return true
		}
		if err != nil {
			return false
		}
	}
}

// checkLinks warns of a file that has several names. Snapshots by hard links are legitimate, so it is not refused.
func (s *store) checkLinks() {
	if n := Links(s.path); n > 1 {
		s.log.Warn("perdure sqlite: the database file has several names (hard links): always open it by the same one, "+
			"because each name has a log of its own", "path", s.path, "names", n)
	}
}
