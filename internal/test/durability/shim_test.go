//go:build unix

package durability

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// recordedFile is the name of the store whose files are recorded, in any folder.
const recordedFile = "recorded.db"

// recorder records SQLite's calls on the files of a store together with the acknowledgements, in one order.
type recorder struct {
	mu    sync.Mutex
	trace []step
	files map[uintptr]*recorded
	syncs int
}

// recorded is an open file of the store. SQLite calls the methods that it finds at the file's address.
type recorded struct {
	path    string
	real    lib.Tsqlite3_io_methods
	methods lib.Tsqlite3_io_methods
}

// tape is the recorder. It is global because functions called by SQLite must find it. The variable system opens the
// files, and shim stands before it. Translated C holds the addresses of both.
var (
	tape   = recorder{files: make(map[uintptr]*recorded)}
	system lib.Tsqlite3_vfs
	shim   lib.Tsqlite3_vfs
	insert = sync.OnceValue(insertShim)
)

// add records a step.
func (r *recorder) add(s step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trace = append(r.trace, s)
}

// taken returns the recorded steps and clears them.
func (r *recorder) taken() []step {
	r.mu.Lock()
	defer r.mu.Unlock()
	trace := r.trace
	r.trace = nil
	return trace
}

// begin records the beginning of a sync and returns its step.
func (r *recorder) begin(f *recorded) step {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.syncs++
	s := step{deed: syncing, file: f.path, sync: r.syncs}
	r.trace = append(r.trace, s)
	return s
}

// of returns an open file.
func (r *recorder) of(file uintptr) *recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.files[file]
}

// insertShim puts the shim before the system's files, for the rest of the process.
func insertShim() error {
	tls := libc.NewTLS()
	defer tls.Close()
	found := lib.Xsqlite3_vfs_find(tls, 0)
	if found == 0 {
		return errors.New("SQLite knows no files")
	}
	system = *at[lib.Tsqlite3_vfs](found)
	shim = system
	shim.FpNext, shim.FxOpen = 0, address(openFile)
	if code := lib.Xsqlite3_vfs_register(tls, uintptr(unsafe.Pointer(&shim)), 1); code != lib.SQLITE_OK {
		return fmt.Errorf("SQLite does not take the shim: code %d", code)
	}
	return nil
}

// These are the replaced methods as C has them.
type (
	openMethod  = func(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32
	writeMethod = func(tls *libc.TLS, file, data uintptr, n int32, offset int64) int32
	syncMethod  = func(tls *libc.TLS, file uintptr, flags int32) int32
	closeMethod = func(tls *libc.TLS, file uintptr) int32
)

func openFile(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32 {
	code := method[openMethod](system.FxOpen)(tls, vfs, name, file, flags, out)
	if code != lib.SQLITE_OK || name == 0 {
		return code
	}
	f := &recorded{path: libc.GoString(name)}
	if !strings.Contains(f.path, recordedFile) {
		return code
	}
	head := at[lib.Tsqlite3_file](file)
	f.real = *at[lib.Tsqlite3_io_methods](head.FpMethods)
	f.methods = f.real
	f.methods.FxWrite, f.methods.FxSync, f.methods.FxClose = address(writeFile), address(syncFile), address(closeFile)
	tape.mu.Lock()
	tape.files[file] = f // which keeps the file at its address
	tape.mu.Unlock()
	head.FpMethods = uintptr(unsafe.Pointer(&f.methods))
	return code
}

func writeFile(tls *libc.TLS, file, data uintptr, n int32, offset int64) int32 {
	f := tape.of(file)
	code := method[writeMethod](f.real.FxWrite)(tls, file, data, n, offset)
	if code == lib.SQLITE_OK {
		tape.add(step{deed: wrote, file: f.path, at: offset, data: bytes.Clone(libc.GoBytes(data, int(n)))})
	}
	return code
}

func syncFile(tls *libc.TLS, file uintptr, flags int32) int32 {
	f := tape.of(file)
	s := tape.begin(f)
	code := method[syncMethod](f.real.FxSync)(tls, file, flags)
	if code == lib.SQLITE_OK {
		s.deed = synced
		tape.add(s)
	}
	return code
}

func closeFile(tls *libc.TLS, file uintptr) int32 {
	f := tape.of(file)
	code := method[closeMethod](f.real.FxClose)(tls, file)
	tape.mu.Lock()
	defer tape.mu.Unlock()
	delete(tape.files, file)
	return code
}

// at returns the value at an address that C holds.
func at[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }

// method returns the function at an address.
func method[F any](p uintptr) F { return *(*F)(unsafe.Pointer(&p)) }

// address returns the address of a function of this package.
func address(fn any) uintptr { return (*[2]uintptr)(unsafe.Pointer(&fn))[1] }
