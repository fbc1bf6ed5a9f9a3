package history

// Attempt is one attempt of an activity that has ended.
type Attempt struct {
	Number  int64
	Node    string // that ran it
	Began   int64  // microseconds UTC by the storage's clock, as the node knows it
	Ended   int64
	Failure string // the beginning of why it failed; "" if it did not
}

func (a *Attempt) fields(c *codec) {
	c.integer(1, &a.Number)
	c.text(2, &a.Node)
	c.integer(3, &a.Began)
	c.integer(4, &a.Ended)
	c.text(5, &a.Failure)
}

func attemptsSize(list []Attempt) int64 {
	size := int64(0)
	for i := range list {
		size += frame + int64(len(list[i].Node)+len(list[i].Failure))
	}
	return size
}

// Retried is stored with a task that is retried: the failure of its last attempt, and the list of the attempts
// before, oldest first. Releases before level 4 stored the failure alone.
type Retried struct {
	Failure  Failure
	Attempts []Attempt
	Span     string // context of the span of the last attempt, "" for none; releases before level 10 do not write it
}

func (r *Retried) fields(c *codec) {
	r.Failure.fields(c)
	records(c, 8, &r.Attempts)
	c.text(9, &r.Span)
}

// EncodeRetried encodes r with the format's version in front.
func EncodeRetried(r Retried) []byte { return appendRecord([]byte{formatVersion}, &r) }

// DecodeRetried reads what EncodeRetried or EncodeFailure wrote. Errors wrap ErrNewer or ErrCorrupt.
func DecodeRetried(data []byte) (Retried, error) {
	var r Retried
	return r, decodeVersioned(data, &r)
}
