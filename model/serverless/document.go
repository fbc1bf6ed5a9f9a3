package serverless

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MaxDocument is how many bytes the text of a document may have, together with those of the documents that it runs.
const MaxDocument = 256 << 10

// maxExpressions is how many expressions a document may have: a node compiles all of them before each replay.
const maxExpressions = 2_000

// Document is a workflow document that was read and checked. It never changes, and several goroutines may use it at once.
type Document struct {
	text  string
	uses  []*Document // that it runs, and that these run, in an order in which they can be read
	hash  string
	names lists
	tree  *workflow
}

// lists are the functions that a document needs.
type lists struct{ activities, orchestrations []string }

// Parse reads a document in YAML or JSON, and checks it against the subset. The tasks run.workflow find the documents that they run in
// uses, by namespace, name and version. A document that is refused is [Findings]: all that was found, with line and column.
func Parse(text []byte, uses ...*Document) (*Document, error) {
	return parse(text, uses, &budget{})
}

func parse(text []byte, uses []*Document, b *budget) (*Document, error) {
	given, err := closure(uses)
	if err != nil {
		return nil, err
	}
	if len(text) > MaxDocument {
		return nil, fmt.Errorf("document refused: it has %d bytes: the limit is %d", len(text), MaxDocument)
	}
	root, found := load(text)
	if found != nil {
		return nil, found
	}
	r := &reader{
		budget: b, uses: map[documentID]*Document{}, errors: map[string]*raised{}, retries: map[string]*retry{}, timeouts: map[string]*duration{},
		activities: map[string]bool{}, orchestrations: map[string]bool{},
	}
	for _, u := range given {
		r.uses[u.tree.id] = u
	}
	d := &Document{text: string(text)}
	if r.plain(root, ""); len(r.findings) == 0 {
		d.tree = r.workflow(root)
	}
	if len(r.findings) > 0 {
		return nil, r.findings.sorted()
	}
	if d.uses, err = closure(r.runs); err != nil {
		return nil, err
	}
	d.names = lists{sortedKeys(r.activities), sortedKeys(r.orchestrations)}
	size := 0
	for _, t := range d.texts() {
		size += len(t)
	}
	if size > MaxDocument {
		return nil, fmt.Errorf("document refused: it has %d bytes with those that it runs: the limit is %d", size, MaxDocument)
	}
	d.hash = hashOf(d.texts())
	return d, nil
}

// closure returns documents and all that they run, each once, in an order in which they can be read again.
func closure(of []*Document) (all []*Document, err error) {
	known := map[documentID]*Document{}
	for _, u := range of {
		for _, one := range append(append([]*Document{}, u.uses...), u) {
			switch other := known[one.tree.id]; {
			case other == nil:
				known[one.tree.id], all = one, append(all, one)
			case other.hash != one.hash:
				return nil, fmt.Errorf("document refused: %v is given with two texts: a document never changes, so give the new one another version", one.tree.id)
			}
		}
	}
	return all, nil
}

// load reads the text as YAML, of which JSON is a part.
func load(text []byte) (*yaml.Node, Findings) {
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	var first, second yaml.Node
	if err := decoder.Decode(&first); err != nil {
		if err == io.EOF { //nolint:errorlint // the decoder returns it as it is
			return nil, Findings{{Line: 1, Column: 1, Path: "/", Text: "the document is empty"}}
		}
		return nil, Findings{{Line: lineOf(err), Path: "/", Text: "the document is neither YAML nor JSON: " + err.Error()}}
	}
	if err := decoder.Decode(&second); err != io.EOF { //nolint:errorlint // the decoder returns it as it is
		return nil, Findings{{Line: max(second.Line, 1), Column: max(second.Column, 1), Path: "/", Text: "a second document follows: give each to Parse alone"}}
	}
	return first.Content[0], nil
}

// lineOf finds the line in an error of the reader of YAML, which has no other place for it.
func lineOf(err error) int {
	if m := regexp.MustCompile(`line (\d+)`).FindStringSubmatch(err.Error()); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			return n
		}
	}
	return 1
}

// texts returns the texts of all documents that this one runs, and its own.
func (d *Document) texts() []string {
	texts := make([]string, 0, len(d.uses)+1)
	for _, u := range d.uses {
		texts = append(texts, u.text)
	}
	return append(texts, d.text)
}

func hashOf(texts []string) string {
	h := sha256.New()
	for _, t := range texts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(t), t) // a hash returns no error
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Namespace returns the namespace of the document.
func (d *Document) Namespace() string { return d.tree.id.namespace }

// Name returns the name of the document.
func (d *Document) Name() string { return d.tree.id.name }

// Version returns the version of the document.
func (d *Document) Version() string { return d.tree.id.version }

// Hash returns the SHA-256 of the document and of those that it runs, in hexadecimal digits. An instance keeps it.
func (d *Document) Hash() string { return d.hash }

// Activities returns the names of the activities that the document calls, sorted, without those of the documents that it runs. A service
// can compare them with what it has registered.
func (d *Document) Activities() []string { return append([]string{}, d.names.activities...) }

// Orchestrations returns the names of the orchestrations in Go that the document runs as children, sorted.
func (d *Document) Orchestrations() []string { return append([]string{}, d.names.orchestrations...) }
