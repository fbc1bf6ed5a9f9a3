package moving

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/perdure/perdure/provider"
)

const (
	// Name is what the first field of a file says.
	Name = "export"
	// Format is the version of the format that this release writes. It reads this one and older ones. Format 1 has no excerpts and groups of failures.
	Format = 2
	// maxLine bounds a line: the largest page in base64, with a view of the same size.
	maxLine = 4 * provider.MaxCommitBytes
)

// Header is the first line.
type Header struct {
	Perdure  string        `json:"perdure"` // Name
	Format   int           `json:"format"`
	Transfer provider.UUID `json:"transfer"`
	Sealed   bool          `json:"sealed"` // running instances are closed at the source
}

// Page is a page of an instance.
type Page struct {
	ID      string          `json:"id"`
	Key     provider.UUID   `json:"key"`
	Number  int             `json:"number"`
	Last    bool            `json:"last,omitempty"`
	At      provider.Time   `json:"at"`      // the storage's time at the source
	Blocked []byte          `json:"blocked"` // Blocked.Message, which may have any bytes
	View    []string        `json:"view,omitempty"`
	Parcel  provider.Parcel `json:"parcel"`
}

// End is the last line.
type End struct {
	Instances int64  `json:"instances"`
	Pages     int64  `json:"pages"`
	SHA256    string `json:"sha256"` // of all lines before, in hexadecimal
}

// line is one line. Exactly one field is set.
type line struct {
	Header *Header `json:"header,omitempty"`
	Page   *Page   `json:"page,omitempty"`
	End    *End    `json:"end,omitempty"`
}

// ErrDamaged means that a file is cut off, was changed, or is no export.
var ErrDamaged = errors.New("the file is damaged")

// ErrNewer means that a newer release wrote the file.
var ErrNewer = errors.New("the file has a newer format")

// ErrUnsound means that an import found damage in what it had stored.
var ErrUnsound = errors.New("the imported instances are damaged")

// Writer writes a file. It is for one goroutine.
type Writer struct {
	to    *bufio.Writer
	sum   hash.Hash
	end   End
	begun bool
}

// NewWriter returns a writer of a file.
func NewWriter(w io.Writer) *Writer {
	return &Writer{to: bufio.NewWriterSize(w, 1<<20), sum: sha256.New()}
}

// Begin writes the header.
func (w *Writer) Begin(h Header) error {
	h.Perdure, h.Format, w.begun = Name, Format, true
	return w.write(line{Header: &h})
}

// Page writes a page.
func (w *Writer) Page(p Page) error {
	if head := p.Parcel.Head; head != nil {
		w.end.Instances++
		if b := head.Instance.Blocked; b != nil {
			own, blocked := *head, *b
			p.Blocked, blocked.Message = []byte(b.Message), ""
			own.Instance.Blocked, p.Parcel.Head = &blocked, &own
		}
	}
	w.end.Pages++
	return w.write(line{Page: &p})
}

// Close writes the end and what is buffered. It does not close the writer below.
func (w *Writer) Close() error {
	w.end.SHA256 = hex.EncodeToString(w.sum.Sum(nil))
	if err := w.write(line{End: &w.end}); err != nil {
		return err
	}
	return w.failed(w.to.Flush())
}

func (w *Writer) write(l line) error {
	text, err := json.Marshal(l) //nolint:musttag // the golden file holds the names of fields
	if err != nil {
		return fmt.Errorf("writing the file: %w", err)
	}
	text = append(text, '\n')
	_, _ = w.sum.Write(text) // never fails
	_, err = w.to.Write(text)
	return w.failed(err)
}

func (w *Writer) failed(err error) error {
	if err != nil {
		return fmt.Errorf("writing the file: %w", err)
	}
	return nil
}

// Reader reads a file. It is for one goroutine.
type Reader struct {
	from   *bufio.Reader
	sum    hash.Hash
	number int64 // of the line
	pages  int64
}

// NewReader returns a reader of a file.
func NewReader(r io.Reader) *Reader {
	return &Reader{from: bufio.NewReaderSize(r, 1<<20), sum: sha256.New()}
}

// Begin reads the header. It returns ErrDamaged for what is no export, and ErrNewer for one of a newer release.
func (r *Reader) Begin() (Header, error) {
	l, err := r.read()
	switch {
	case err != nil:
		return Header{}, err
	case l.Header == nil || l.Header.Perdure != Name:
		return Header{}, r.damaged("it does not begin with the header of an export")
	case l.Header.Format > Format:
		return Header{}, fmt.Errorf("%w: %d; this release reads up to %d: import it with a newer release", ErrNewer, l.Header.Format, Format)
	}
	return *l.Header, nil
}

// Next returns the next page. At the end of the file it returns the end and no page. A file without its end, or with another checksum,
// is ErrDamaged.
func (r *Reader) Next() (*Page, *End, error) {
	sum := hex.EncodeToString(r.sum.Sum(nil))
	l, err := r.read()
	switch {
	case err != nil:
		return nil, nil, err
	case l.Page != nil:
		r.pages++
		if head := l.Page.Parcel.Head; head != nil && head.Instance.Blocked != nil {
			head.Instance.Blocked.Message = string(l.Page.Blocked)
		}
		return l.Page, nil, nil
	case l.End == nil:
		return nil, nil, r.damaged("it has neither a page nor the end")
	case l.End.Pages != r.pages:
		return nil, nil, r.damaged(fmt.Sprintf("the file has %d pages, and had %d when it was written", r.pages, l.End.Pages))
	case l.End.SHA256 != sum:
		return nil, nil, r.damaged("the checksum differs")
	}
	if _, err := r.from.ReadByte(); !errors.Is(err, io.EOF) {
		return nil, nil, r.damaged("something follows the end")
	}
	return nil, l.End, nil
}

// read reads one line.
func (r *Reader) read() (l line, err error) {
	r.number++
	var text []byte
	for {
		part, err := r.from.ReadSlice('\n')
		text = append(text, part...)
		if len(text) > maxLine {
			return l, r.damaged("the line is too long")
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if errors.Is(err, io.EOF) {
			return l, r.damaged("the file ends before its last line")
		}
		if err != nil {
			return l, fmt.Errorf("reading the file: %w", err)
		}
		break
	}
	_, _ = r.sum.Write(text)                                                  // never fails
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&l); err != nil { //nolint:musttag // the golden file holds the names of fields
		return l, r.damaged(err.Error())
	}
	return l, nil
}

func (r *Reader) damaged(why string) error {
	return fmt.Errorf("%w: line %d: %s", ErrDamaged, r.number, why)
}
