package serverless

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestration/model"
	"github.com/perdure/perdure/runtime"
)

// All documents run as one orchestration. Its version is that of the interpreter: what a document does under it, and how its expressions
// are evaluated, does not change. A release that changes either registers the old version, too.
const (
	Name    = "serverless.document"
	Version = "1"
)

// Attributes that an instance of a document has, to find it by.
const (
	AttributeDocument = "serverless.document" // namespace/name:version
	AttributeHash     = "serverless.hash"     // see Document.Hash
)

// Input is the input of an instance: the document itself, with those that it runs, and its data. Make it with [NewInput].
type Input struct {
	Documents []string        `json:"documents"` // texts; the last one runs
	Hash      string          `json:"hash"`      // of Documents: see Document.Hash
	Input     json.RawMessage `json:"input,omitempty"`
}

// NewInput returns the input of an instance of a document, for code that starts it as a child or by other means than [Start]. The data
// is encoded as JSON.
func NewInput(d *Document, data any) (Input, error) {
	raw, err := json.Marshal(data)
	if err != nil {
		return Input{}, fmt.Errorf("encoding the input of document %v: %w", d.tree.id, err)
	}
	return inputOf(d, raw), nil
}

func inputOf(d *Document, data json.RawMessage) Input {
	return Input{Documents: d.texts(), Hash: d.hash, Input: data}
}

// Register adds the interpreter to a registry, and [Fault] to its errors. Each node that runs documents needs it. The activities that
// documents call are registered beside it. It returns [ErrLinked] in a program that links other versions of jq or of the reader of YAML
// than the interpreter is made with.
func Register(reg *runtime.Registry) error {
	if info, ok := debug.ReadBuildInfo(); ok {
		if err := linked(info); err != nil {
			return err
		}
	}
	if err := runtime.AddErrorType[*Fault](reg, "serverless.fault"); err != nil {
		return err
	}
	return runtime.AddModel(reg, documents{})
}

// documents is the execution model of the documents.
type documents struct{}

// Orchestrations implements model.Model: all documents run under one name.
func (documents) Orchestrations() []model.Name { return []model.Name{{Name: Name, Version: Version}} }

// New implements model.Model.
func (documents) New(model.Name) model.Execution { return documentRun{} }

// documentRun runs one document.
type documentRun struct{}

// Run implements model.Execution.
func (documentRun) Run(ctx *orchestration.Context, input json.RawMessage) (json.RawMessage, error) {
	var in Input
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, fmt.Errorf("the input is none of NewInput: %w", err)
	}
	return interpret(ctx, in)
}

// Orchestration returns the interpreter, for code that runs documents as children and for tests: its result is the output of the document
// as JSON.
//
//	in, err := serverless.NewInput(doc, order)
//	out, err := orchestration.CallOrchestration(ctx, serverless.Orchestration(), in)
func Orchestration() func(*orchestration.Context, Input) (json.RawMessage, error) {
	return orchestration.Define(Name, interpret, orchestration.Version(Version))
}

// Start starts an instance of a document. Its output is JSON: wait for it with the handle. The instance keeps the document that it was
// started with, whatever text is given for the same name and version later. The data is encoded as JSON; with the document it has at most
// 2 MiB. Options and errors are those of client.Start.
func Start(ctx context.Context, c *client.Client, d *Document, data any, opts ...client.StartOption) (client.Handle[json.RawMessage], error) {
	in, err := NewInput(d, data)
	if err != nil {
		return client.Handle[json.RawMessage]{}, err
	}
	return client.Start(ctx, c, Orchestration(), in, opts...)
}

// interpret is the orchestration that runs documents.
func interpret(ctx *orchestration.Context, in Input) (json.RawMessage, error) {
	b := &budget{}
	b.renew()
	d, err := read(in, b)
	if err != nil {
		return nil, err
	}
	data, err := decode(in.Input)
	if err != nil {
		return nil, fmt.Errorf("the input of document %v: %w", d.tree.id, err)
	}
	orchestration.SetAttribute(ctx, AttributeDocument, d.tree.id.String())
	orchestration.SetAttribute(ctx, AttributeHash, d.hash)
	info := ctx.Info()
	m := &machine{tree: d.tree, budget: b, id: info.ID, input: data, started: info.Started}
	out, err := m.workflow(ctx)
	if err != nil {
		return nil, err
	}
	return encode(out), nil
}

// read parses the documents of an input, and compares them with its hash.
func read(in Input, b *budget) (*Document, error) {
	var all []*Document
	for _, text := range in.Documents {
		d, err := parse([]byte(text), all, b)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("the input has no document: make it with NewInput")
	}
	last := all[len(all)-1]
	if last.hash != in.Hash {
		return nil, fmt.Errorf("document %v has the hash %s: the input names %s", last.tree.id, last.hash, in.Hash)
	}
	return last, nil
}
