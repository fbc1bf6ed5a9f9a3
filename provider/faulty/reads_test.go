package faulty

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/provider"
)

// Whatever becomes of the connection, a call that only reads has changed nothing. A new method must be thought of.
func TestOutcomeOfEachMethod(t *testing.T) {
	t.Parallel()
	change := []string{
		"Create", "Steer", "FetchTurns", "CommitTurn", "ReleaseTurns", "FetchTasks", "ReportTasks", "RenewTasks", "SteerTask", "Reset", "Fork", "Seal",
		"Import", "Send", "Ask", "FetchAsks", "Answer", "Delete", "Prune", "Trim", "Compact", "DeadLetters", "Lease", "Record", "CreateIn", "SendIn",
		"CompleteIn", "Notify",
	}
	file, err := parser.ParseFile(token.NewFileSet(), "plan.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for n := range ast.Preorder(file) {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			continue
		}
		of, ok := spec.Type.(*ast.Ident)
		text, isText := spec.Values[0].(*ast.BasicLit)
		if !ok || of.Name != "Op" || !isText {
			continue
		}
		seen++
		name, op := spec.Names[0].Name, Op(strings.Trim(text.Value, `"`))
		if reads := op.outcome() == provider.OutcomeNothing; reads == slices.Contains(change, name) {
			t.Errorf("%s (%q) changes nothing: %v", name, op, reads)
		}
	}
	if seen < len(change) {
		t.Errorf("found %d methods only", seen)
	}
}
