package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/internal/amount"
)

// When a progress prints. A command that ends within the first second prints nothing.
const (
	progressFirst    = time.Second
	progressTerminal = 200 * time.Millisecond
	progressElse     = 10 * time.Second
)

// progress prints on standard error how far a command has come: on a terminal one line that is written anew, elsewhere
// a line every 10 s. One goroutine uses it.
type progress struct {
	out      io.Writer
	what     string // the noun of what is counted, such as "instance"
	terminal bool
	now      func() time.Time
	began    time.Time
	next     time.Time // when to print again
	width    int       // of the line on the terminal
}

// newProgress begins to count what, a noun that plural can take.
func (a *app) newProgress(cmd *cobra.Command, what string) *progress {
	p := &progress{out: cmd.ErrOrStderr(), what: what, now: time.Now}
	if a.now != nil {
		p.now = a.now
	}
	p.terminal = a.onTerminal(p.out)
	p.begin()
	return p
}

func (p *progress) begin() {
	p.began = p.now()
	p.next = p.began.Add(progressElse)
	if p.terminal {
		p.next = p.began.Add(progressFirst)
	}
}

// set takes how many are done, of how many. A total of 0 is unknown.
func (p *progress) set(done, total int64) {
	now := p.now()
	if now.Before(p.next) {
		return
	}
	text := amount.Of(done, p.what)
	if total > 0 && done <= total {
		text = fmt.Sprintf("%d of %s (%d %%)", done, amount.Of(total, p.what), done*100/total)
	}
	text += fmt.Sprintf(", %s", now.Sub(p.began).Round(time.Second))
	if !p.terminal {
		p.next = now.Add(progressElse)
		fmt.Fprintln(p.out, text)
		return
	}
	p.next = now.Add(progressTerminal)
	fmt.Fprintf(p.out, "\r%-*s", p.width, text)
	p.width = len(text)
}

// end removes the line from the terminal. The command calls it before it prints anything else.
func (p *progress) end() {
	if p.width > 0 {
		fmt.Fprintf(p.out, "\r%s\r", strings.Repeat(" ", p.width))
		p.width = 0
	}
}
