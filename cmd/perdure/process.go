package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// workerProcess is a worker that runs in a separate process.
type workerProcess struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	ready  chan struct{} // closed when it takes work, after owner is set
	owner  string        // of its leases
	exited chan struct{} // closed when it has exited, after err is set
	err    error
}

// startProcess starts a binary of this program as a worker. It calls watch for each notice, one at a time. The worker
// shuts down when this process dies.
func startProcess(binary string, o workerOptions, stderr io.Writer, watch func(notice)) (*workerProcess, error) {
	options, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("starting a worker: %w", err)
	}
	//nolint:noctx,gosec // kill and stop end the worker, which is this program; a context would end it without an error
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

// listen reads notices until the process exits.
func (p *workerProcess) listen(stdout io.Reader, watch func(notice)) {
	defer close(p.exited)
	for lines := json.NewDecoder(stdout); ; {
		var n notice
		// A killed worker may leave a partial last line, so decoding stops at the first error.
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

// kill ends the process with SIGKILL, so that none of its code runs any more, and waits until it has exited.
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

// unexpected returns the error of a worker that exited too early.
func (p *workerProcess) unexpected(when string) error {
	if p.err != nil {
		return fmt.Errorf("worker %d ended %s: %w", p.pid(), when, p.err)
	}
	return fmt.Errorf("worker %d ended %s: it received a request to shut down", p.pid(), when)
}
