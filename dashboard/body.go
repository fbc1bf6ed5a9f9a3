package dashboard

import (
	"io"
	"net/http"
	"time"
)

const (
	// bodyTime bounds the time in which a body arrives, and loginTime that of a login, which anybody may send.
	bodyTime  = time.Minute
	loginTime = 10 * time.Second
	// stillTime bounds how long nothing of a file arrives, which may be large.
	stillTime = time.Minute
	// maxLogin bounds the body of a login.
	maxLogin = 64 << 10
)

// timeBody bounds the time in which the body of a request arrives, so that one that comes slowly does not hold its connection for ever. It holds
// also for a body that nothing reads: the server reads the rest after the response.
func (c *call) timeBody() {
	if c.r.ContentLength != 0 {
		c.deadline(time.Now().Add(bodyTime))
		c.r.Body = &timedBody{ReadCloser: c.r.Body, c: c}
	}
}

// timeLogin bounds the body of a login in time and size.
func (c *call) timeLogin() {
	c.deadline(time.Now().Add(loginTime))
	c.r.Body = http.MaxBytesReader(c.w, c.r.Body, maxLogin)
}

// timeFile bounds in place of the whole time only how long nothing of the body arrives.
func (c *call) timeFile() { c.r.Body = &timedBody{ReadCloser: c.r.Body, c: c, still: stillTime} }

// deadline sets when reading from the connection fails; zero: never. A server that cannot is one of a test, or does it by itself.
func (c *call) deadline(at time.Time) {
	_ = http.NewResponseController(c.w).SetReadDeadline(at)
}

// timedBody takes the deadline from the connection when all of the body has been read: the server goes on reading, to see the client leave.
// After an error the deadline stays, because the server reads the rest.
type timedBody struct {
	io.ReadCloser

	c     *call
	still time.Duration // not zero: for each read
}

func (b *timedBody) Read(p []byte) (int, error) {
	if b.still > 0 {
		b.c.deadline(time.Now().Add(b.still))
	}
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF || err == nil && b.still > 0 {
		b.c.deadline(time.Time{})
	}
	return n, err //nolint:wrapcheck // callers look for io.EOF
}
