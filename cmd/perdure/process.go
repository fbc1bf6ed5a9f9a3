package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// workerProcess is a worker that runs as a process of its own.
type workerProcess struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	ready  chan struct{} // closed when it takes work; owner is set then
	owner  string        // of its leases
	exited chan struct{} // closed when it is gone; err then says how
	err    error
}

// startProcess starts a binary of this program as a worker. watch is told of each notice, one at a time. The worker
// shuts down when this process dies.
func startProcess(binary string, o workerOptions, stderr io.Writer, watch func(notice)) (*workerProcess, error) {
	options, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("starting a worker: %w", err)
	}
	//nolint:noctx // the worker is this program; kill and stop end it, a context would do it without a word
	p := &workerProcess{cmd: exec.Command(binary), ready: make(chan struct{}), exited: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), workerVariable+"="+string(options))
	p.cmd.Stderr = stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("starting a worker: %w", err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting a worker: %w", err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting a worker: %w", err)
	}
	go p.listen(stdout, watch)
	return p, nil
}

// listen reads notices to the end of the process.
func (p *workerProcess) listen(stdout io.Reader, watch func(notice)) {
	defer close(p.exited)
	for lines := json.NewDecoder(stdout); ; {
		var n notice
		// The last line of a killed worker may be torn: what remains is not read.
		if lines.Decode(&n) != nil {
			break
		}
		watch(n)
		if n.Ready {
			p.owner = n.Owner
			close(p.ready)
		}
	}
	_, _ = io.Copy(io.Discard, stdout)
	p.err = p.cmd.Wait()
}

func (p *workerProcess) pid() int { return p.cmd.Process.Pid }

// kill ends the process with SIGKILL, so that no line of its code runs any more, and
// waits until it is gone.
func (p *workerProcess) kill() error {
	if err := p.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("killing worker %d: %w", p.pid(), err)
	}
	<-p.exited
	return nil
}

// stop lets the worker shut down in phases.
func (p *workerProcess) stop() error {
	_ = p.stdin.Close()
	<-p.exited
	if p.err != nil {
		return fmt.Errorf("worker %d: %w", p.pid(), p.err)
	}
	return nil
}

// unexpected is the error of a worker that is gone and should not be.
func (p *workerProcess) unexpected(when string) error {
	if p.err != nil {
		return fmt.Errorf("worker %d ended %s: %w", p.pid(), when, p.err)
	}
	return fmt.Errorf("worker %d ended %s: it was told to shut down", p.pid(), when)
}
