package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/perdure/perdure/provider"
)

// checkPath finds mistakes that SQLite reports badly. It creates the file unless it must exist, and makes path absolute.
func checkPath(path string, must bool) (string, error) {
	switch {
	case path == "":
		return "", fmt.Errorf("open: the path is empty: give the name of a file, such as orders.db: %w", provider.ErrInvalid)
	case path == ":memory:" || strings.HasPrefix(path, "file:"):
		return "", fmt.Errorf("open %q: not the path of a file; for a store in memory use the package provider/memory, "+
			"or a file in a temporary directory: %w", path, provider.ErrInvalid)
	case strings.IndexByte(path, 0) >= 0:
		return "", fmt.Errorf("open %q: the path has a NUL byte: %w", path, provider.ErrInvalid)
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("open %s: %w", path, err)
	}
	dir, err := os.Stat(filepath.Dir(full)) //nolint:gosec // the caller names the file
	if err != nil {
		return "", fmt.Errorf("open %s: the directory must exist: %w", path, err)
	}
	if !dir.IsDir() {
		return "", fmt.Errorf("open %s: %s is not a directory: %w", path, filepath.Dir(full), provider.ErrInvalid)
	}
	if _, err := os.Stat(full); !must && errors.Is(err, fs.ErrNotExist) { //nolint:gosec // the caller names the file
		if err := createFile(full); err != nil {
			return "", fmt.Errorf("open %s: the file cannot be created; check owner and mode of the directory: %w", path, err)
		}
	}
	if target, err := filepath.EvalSymlinks(full); err == nil {
		full = target // so that the lock files are next to the real file, whatever name it is opened by
	}
	info, err := os.Stat(full) //nolint:gosec // the caller names the file
	switch {
	case err != nil && must:
		return "", fmt.Errorf("open %s: there must be a store already, as it is opened with ReadOnly or NoMigrate: %w", path, err)
	case err == nil && !info.Mode().IsRegular():
		what := "not a regular file"
		if info.IsDir() {
			what = "a directory; name a file in it"
		}
		return "", fmt.Errorf("open %s: it is %s: %w", path, what, provider.ErrInvalid)
	}
	return full, nil
}

// sharing finds the open store of a file. One that is open for writing serves readers, too.
func sharing(full string, readOnly bool) *store {
	info, err := os.Stat(full) //nolint:gosec // the caller names the file
	for _, s := range registry.stores {
		if s.readOnly && !readOnly {
			continue
		}
		if s.path == full || err == nil && os.SameFile(info, s.info) {
			return s
		}
	}
	return nil
}

// dsn returns the data source name of the file, with the settings of every connection.
func dsn(full string, o Options, query bool) string {
	v := url.Values{}
	v.Set("_txlock", "immediate")
	v.Set("_error_rc", "1")
	for _, pragma := range []string{
		"busy_timeout(" + strconv.FormatInt(o.BusyTimeout.Milliseconds(), 10) + ")",
		"foreign_keys(1)", "temp_store(MEMORY)",
		"synchronous(" + o.Synchronous.pragma() + ")",
	} {
		v.Add("_pragma", pragma)
	}
	if query { // its cache is stale after each commit of the writer
		v.Set("_query_only", "1")
		v.Add("_pragma", "cache_size(-"+strconv.Itoa(readerCache)+")")
	} else {
		v.Add("_pragma", "cache_size(-16000)")
		v.Add("_pragma", "wal_autocheckpoint("+strconv.Itoa(checkpointAt)+")")
	}
	v.Set("mode", "rw") // a missing file is not created again: see createFile
	if o.ReadOnly {
		v.Set("mode", "ro")
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(full), RawQuery: v.Encode()}
	return u.String()
}
