package dispatcher

import (
	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/flow"
)

// Config holds the settings of a node.
type Config = core.Config

// Controls is what a background service of a node does to it.
type Controls = core.Controls

// Limit limits the attempts of some activities on this node, in addition to MaxActivities.
type Limit = flow.Limit

// ActivityName is an activity of a queue.
type ActivityName = flow.ActivityName

// QueueLimit limits the activities of a queue on all nodes together.
type QueueLimit = flow.QueueLimit
