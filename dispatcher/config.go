package dispatcher

import (
	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/flow"
)

// Config is what a node needs.
type Config = core.Config

// A Limit bounds the attempts of some activities on this node, in addition to MaxActivities.
type Limit = flow.Limit

// ActivityName is an activity of a queue.
type ActivityName = flow.ActivityName

// QueueLimit bounds the activities of a queue on all nodes together.
type QueueLimit = flow.QueueLimit
