package measure

import (
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// Touched memory shows in the peak even after it was freed, until the peak is reset.
func TestSelf(t *testing.T) {
	const size = 64 << 20
	debug.FreeOSMemory() // otherwise the runtime would reuse memory that it kept
	if !ResetPeak() {
		t.Skip("the peak cannot be reset here")
	}
	before, ok := Self()
	touched := make([]byte, size)
	for i := range touched {
		touched[i] = byte(i)
	}
	after, ok2 := Self()
	if !ok || !ok2 || after.CPU <= before.CPU || after.Peak < before.Memory+size/2 || after.Memory > after.Peak {
		t.Errorf("%+v, then %+v", before, after)
	}
	runtime.KeepAlive(touched)
	debug.FreeOSMemory()
	if given, _ := Self(); given.Peak < after.Peak-size/2 || given.Memory > after.Memory-size/2 {
		t.Errorf("%+v, after memory was freed %+v", after, given)
	}
	if !ResetPeak() {
		t.Error("the peak was not reset")
	}
	if anew, _ := Self(); anew.Peak > after.Peak-size/2 {
		t.Errorf("the peak was %d and was reset to %d", after.Peak, anew.Peak)
	}
	if load, ok := Load(); !ok || load < 0 {
		t.Errorf("load %v, %v", load, ok)
	}
}

func TestWritten(t *testing.T) {
	const size = 1 << 20
	dir := t.TempDir()
	before, ok := Written()
	if !ok || InMemory(dir) {
		t.Skip("not reported here")
	}
	if err := os.WriteFile(dir+"/file", make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	if after, _ := Written(); after-before < size {
		t.Errorf("%d bytes were written, and %d are reported", size, after-before)
	}
}

// The CPU time of a child counts while it runs and after it has exited.
func TestFamily(t *testing.T) {
	before, ok := Family(os.Getpid())
	if !ok {
		t.Fatal("not reported")
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo; read x")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	running, _ := Family(os.Getpid())
	if server, ok := Server(cmd.Process.Pid, "sh", "read x"); !ok || server != os.Getpid() {
		t.Errorf("the parent of the child is %d, %v", server, ok)
	}
	if _, ok := Server(cmd.Process.Pid, "sh", "postgres"); ok {
		t.Error("another program was taken for the server")
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // read has got end of input
	gone, _ := Family(os.Getpid())
	if running < before+20*time.Millisecond || gone < running {
		t.Errorf("%v before, %v while the child runs, %v after", before, running, gone)
	}
}
