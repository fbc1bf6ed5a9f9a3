package turn

import (
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// infoOf returns what identifies the current execution of an instance.
func infoOf(inst *provider.Instance) replay.Info {
	return replay.Info{
		ID: inst.ID, Key: inst.Key, Execution: inst.Execution, Name: inst.Name, CodeVersion: inst.CodeVersion,
		ParentExecution: inst.Parent.Execution,
	}
}
