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

// recordedFile is the name of the store whose files are recorded, in whatever folder.
const recordedFile = "recorded.db"

// recorder writes down what SQLite asks of the files of a store, and what is told beside, in one order.
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

// tape is the recorder: functions that SQLite calls must find it by themselves. system is how SQLite opens files, and shim what stands before
// that: translated C holds the addresses of both.
var (
	tape   = recorder{files: make(map[uintptr]*recorded)}
	system lib.Tsqlite3_vfs
	shim   lib.Tsqlite3_vfs
	insert = sync.OnceValue(insertShim)
)

// add writes a step down.
func (r *recorder) add(s step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trace = append(r.trace, s)
}

// taken answers what was written down, and forgets it.
func (r *recorder) taken() []step {
	r.mu.Lock()
	defer r.mu.Unlock()
	trace := r.trace
	r.trace = nil
	return trace
}

// begin writes down that a sync begins, and answers it.
func (r *recorder) begin(f *recorded) step {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.syncs++
	s := step{deed: syncing, file: f.path, sync: r.syncs}
	r.trace = append(r.trace, s)
	return s
}

// of answers an open file.
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

// The methods that are replaced, as C has them.
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
	tape.files[file] = f // which keeps it where it is
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

// at answers what lies at an address that C holds.
func at[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }

// method answers the function at an address.
func method[F any](p uintptr) F { return *(*F)(unsafe.Pointer(&p)) }

// address answers where a function of this package lies.
func address(fn any) uintptr { return (*[2]uintptr)(unsafe.Pointer(&fn))[1] }
