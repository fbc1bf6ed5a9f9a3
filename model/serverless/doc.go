// Package serverless runs workflow documents: a second way to write orchestrations, in the DSL 1.0 of the CNCF Serverless Workflow
// specification, in a subset.
//
//	doc, err := serverless.Parse(text)
//	err = serverless.Register(reg) // once for each node, beside the activities that documents call
//	h, err := serverless.Start(ctx, c, doc, order)
//
// A document is data, and the code that runs it is an ordinary orchestration. All documents run under one name and version, so a node needs
// no registration for a new document, and none is lost with a deploy. The text is part of the input of the instance: a later text under the
// same name and version does not reach it.
//
// What is outside of the subset is refused by [Parse], with line and column: the page docs/reference/serverless-workflow.md lists both.
// Whoever may start instances may write documents. So no task reaches the network or runs programs: call reaches activities, run reaches
// documents and orchestrations.
//
// Expressions are jq. An expression sees its input and variables only, and may call the functions of a table. Its work is counted, not
// timed: over the limit the turn fails, and the instance shows as Blocked. See [LimitError].
//
// The package is experimental: its API may change in a minor release. It is a module of its own, so that nobody else gets what reads YAML
// and interprets jq:
//
//   - github.com/itchyny/gojq is jq in Go without a process. Its version decides what expressions return, and a corpus of results holds
//     it. The version in go.mod is a minimum, so a program can raise it. [Register] refuses that with [ErrLinked], as an instance could
//     take another way on its replay.
//   - go.yaml.in/yaml/v3 gives each node of a document with line and column, which encoding/json cannot. It is the maintained successor of
//     gopkg.in/yaml.v3.
package serverless
