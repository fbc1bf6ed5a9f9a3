package history

// ForkPoint ends the prefix with which a reset or fork has opened an execution. The events before it were copied from the
// origin. A ForkPoint has the form of a message, and code does not see it.
type ForkPoint struct {
	Seed          []byte   // of random numbers from here on, 32 bytes
	Key           [16]byte // of the origin
	ID            string   // of the origin
	Execution     int64    // of the origin
	Event         int64    // of the origin: the first one that was not copied
	Reason        string   // for people
	RequestID     string   // of the reset or fork
	OtherInstance int64    // events up to this one were made by another instance, to which their children belong
	Updates       []byte   // hashes of the IDs of updates that the instance has received and that do not count any more, 16 bytes each

	Seen *Identity // what the code sees as its own identity before this event; nil: that of the execution
}

// Identity is what code sees of the identity of its execution.
type Identity struct {
	Key       [16]byte
	ID        string
	Execution int64
	Parent    Parent // zero Key: none
	Root      Root   // as in the start event
}

func (i *Identity) fields(c *codec) {
	c.uuid(1, &i.Key)
	c.text(2, &i.ID)
	c.integer(3, &i.Execution)
	c.nested(4, &i.Parent)
	c.nested(5, &i.Root)
}

// Kind implements Body.
func (*ForkPoint) Kind() Kind { return KindForkPoint }

func (e *ForkPoint) fields(c *codec) {
	c.payload(2, &e.Seed)
	c.uuid(3, &e.Key)
	c.text(4, &e.ID)
	c.integer(5, &e.Execution)
	c.integer(6, &e.Event)
	c.text(7, &e.Reason)
	c.text(8, &e.RequestID)
	c.integer(9, &e.OtherInstance)
	c.payload(10, &e.Updates)
	optional(c, 11, &e.Seen)
}

// Opening asks a node to reset or fork an instance: to open an execution from the prefix of the history of another.
type Opening struct {
	Execution int64    // of the origin; another one is over
	Event     int64    // the first one that is not copied
	DropLater bool     // events that the origin received later are not carried along
	NewInput  bool     // Input replaces that of the origin
	Input     []byte   // with NewInput
	Reason    string   // for people
	RequestID string   // of the act, which happens once
	ForkID    string   // of the new instance; "": a reset
	ForkKey   [16]byte // of the new instance
}

func (o *Opening) fields(c *codec) {
	c.integer(1, &o.Execution)
	c.integer(2, &o.Event)
	c.boolean(3, &o.DropLater)
	c.boolean(4, &o.NewInput)
	c.payload(5, &o.Input)
	c.text(6, &o.Reason)
	c.text(7, &o.RequestID)
	c.text(8, &o.ForkID)
	c.uuid(9, &o.ForkKey)
}

// The outcomes of an Opening, besides AnswerRefused, AnswerNotReplay, AnswerTooSlow and AnswerTooLarge. The numbers are stored.
const (
	AnswerOpened   int64 = 64 // Opened names the execution
	AnswerBadPoint int64 = 65 // no execution can open there; Message says where
	AnswerTaken    int64 = 66 // the ID is in use
	AnswerLevel    int64 = 67 // the store does not allow the level that it needs
	AnswerBusy     int64 = 68 // the instance went on meanwhile, each time
	AnswerOver     int64 = 69 // the execution is not the current one, or the instance was replaced
)

// Opened names an execution that a reset or fork has opened.
type Opened struct {
	Key       [16]byte
	Execution int64
}

func (o *Opened) fields(c *codec) {
	c.uuid(1, &o.Key)
	c.integer(2, &o.Execution)
}
