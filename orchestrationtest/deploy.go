package orchestrationtest

import (
	"fmt"

	"github.com/perdure/perdure/runtime"
)

// Node is a node of a test, which runs one release of the code: see [Env.Deploy]. Several goroutines may use it at once.
type Node struct {
	env     *Env
	release *release
}

// Deploy starts a node of another release on the same store. Its code is what register adds to an empty registry, and what the test replaces.
// The nodes that run go on beside it, as during a deploy: either release may take the next turn of an instance, and run its activities. Stop the
// node of before with [Node.Stop] to end the deploy:
//
//	h := orchestrationtest.Start(e, Checkout, order)
//	e.After(time.Hour, func() error {
//		e.Deploy(registerNext)
//		e.Node().Stop()
//		return nil
//	})
//
// An orchestration that [Start] is given is code of all releases that have no other function of its name and version. What [AddActivity],
// [AddOrchestration] and [Env.Registry] register is code of the first release only. With a nil register, the node runs the code of the first
// release, too.
//
// It fails the test if register returns an error or the node cannot start.
func (e *Env) Deploy(register func(reg *runtime.Registry) error) *Node {
	e.t.Helper()
	e.touch()
	reg := e.registry
	if register != nil {
		reg = runtime.NewRegistry()
		if err := register(reg); err != nil {
			e.fatal(fmt.Sprintf("deploying a release: registering its code: %v", err))
		}
	}
	r, err := e.nodes.deploy(e.ctx, reg)
	if err != nil {
		e.fatal(fmt.Sprintf("deploying a release: %v", err))
	}
	return &Node{e, r}
}

// Node returns the first node, which runs what is registered with [AddActivity], [AddOrchestration] and [Env.Registry]. It need not have started.
func (e *Env) Node() *Node { return &Node{e, e.nodes.all()[0]} }

// Stop shuts the node down for good, as [Env.Restart] does. It fails the test if that fails.
func (n *Node) Stop() {
	e := n.env
	e.t.Helper()
	e.touch()
	if err := e.nodes.retire(e.ctx, n.release); err != nil {
		e.fatal(fmt.Sprintf("stopping a node: %v", err))
	}
}
