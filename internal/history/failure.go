package history

// Failure is a stored error: what remains of a user's or the engine's error when it crosses to another process.
type Failure struct {
	Type         string // registered name, or the Go type's name
	Message      string
	Details      []byte // encoded value of a registered error type
	NonRetryable bool
	Code         string // of the engine's own errors, such as "cancelled"; "" for a user's
	Causes       []Failure
	Registered   bool // Type is a name given with AddError or AddErrorType
}

func (f *Failure) fields(c *codec) {
	c.text(1, &f.Type)
	c.text(2, &f.Message)
	c.payload(3, &f.Details)
	c.boolean(4, &f.NonRetryable)
	c.text(5, &f.Code)
	records(c, 6, &f.Causes)
	c.boolean(7, &f.Registered)
}

// Outcome is how an execution ended, as stored in an instance's result: an output or a
// failure.
type Outcome struct {
	Output  []byte
	Failure *Failure
}

func (o *Outcome) fields(c *codec) {
	c.payload(1, &o.Output)
	optional(c, 2, &o.Failure)
}

// EncodeOutcome encodes o with the format's version in front.
func EncodeOutcome(o Outcome) []byte { return appendRecord([]byte{formatVersion}, &o) }

// DecodeOutcome reads what EncodeOutcome wrote. Errors wrap ErrNewer or ErrCorrupt.
func DecodeOutcome(data []byte) (Outcome, error) {
	var o Outcome
	return o, decodeVersioned(data, &o)
}

// EncodeFailure encodes f with the format's version in front.
func EncodeFailure(f Failure) []byte { return appendRecord([]byte{formatVersion}, &f) }

// DecodeFailure reads what EncodeFailure wrote. Errors wrap ErrNewer or ErrCorrupt.
func DecodeFailure(data []byte) (Failure, error) {
	var f Failure
	return f, decodeVersioned(data, &f)
}

func decodeVersioned(data []byte, r record) error {
	switch {
	case len(data) == 0 || data[0] == 0:
		return ErrCorrupt
	case IsSealed(data):
		return SealedIn(data)
	case data[0] > formatVersion:
		return ErrNewer
	}
	return decodeRecord(data[1:], r, 0)
}
