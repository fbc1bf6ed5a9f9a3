package history

// Bounds of what a start event has of the run before, so that no input is so large that the event has no room.
const (
	// MaxPreviousOutput is how many bytes the output may have; a larger one is left out.
	MaxPreviousOutput = 16 << 10
	// maxPreviousFailure is how large the failure may be. Of a larger one, the beginning of the text is kept.
	maxPreviousFailure = 4 << 10
	maxPreviousText    = 1 << 10
)

// Previous says how the run before has ended, of an instance that a schedule has started.
type Previous struct {
	ID      string
	Key     [16]byte
	Status  int64    // a provider.Status
	Ended   int64    // microseconds UTC
	Output  []byte   // nil: there is none, or it was left out
	Size    int64    // of the output, in bytes
	Failure *Failure // nil: it has completed
}

func (p *Previous) fields(c *codec) {
	c.text(1, &p.ID)
	c.uuid(2, &p.Key)
	c.integer(3, &p.Status)
	c.integer(4, &p.Ended)
	c.payload(5, &p.Output)
	c.integer(6, &p.Size)
	optional(c, 7, &p.Failure)
}

// Take sets output and failure to those of an outcome, within the bounds.
func (p *Previous) Take(o Outcome) {
	p.Size, p.Failure = int64(len(o.Output)), o.Failure
	if len(o.Output) <= MaxPreviousOutput {
		p.Output = o.Output
	}
	if failureSize(o.Failure) > maxPreviousFailure {
		p.Failure = &Failure{Message: clip(o.Failure.Message), Code: clip(o.Failure.Code)}
		if o.Failure.Code == "" {
			p.Failure.Type, p.Failure.Registered = clip(o.Failure.Type), false
		}
	}
}

// clip shortens a text to whole characters.
func clip(text string) string {
	if len(text) <= maxPreviousText {
		return text
	}
	end := maxPreviousText
	for end > 0 && text[end]&0xc0 == 0x80 {
		end--
	}
	return text[:end]
}

// PreviousSize estimates the bytes of p in its event; 0 for nil.
func PreviousSize(p *Previous) int64 {
	if p == nil {
		return 0
	}
	return frame + int64(len(p.ID)+len(p.Output)) + failureSize(p.Failure)
}
