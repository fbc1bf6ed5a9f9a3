package provider

// Features are promises about fields of requests that a provider may ignore. The engine uses only what is declared.
type Features struct {
	FirstTurns bool // Create stores First, and CreateIn does
	Ahead      bool // FetchTurns returns turns that become visible within Ahead
	Sticky     bool // CommitTurn with Sticky keeps the instance for Owner

	Retrying      bool // List and Count apply Filter.Retrying; there is a TaskLister
	FailureGroups bool // CommitTurn stores Excerpt and FailureGroup; List and Count apply Filter.FailureGroup; there is a FailureGrouper
}

// Featured is implemented by providers that keep some of the promises of Features.
type Featured interface {
	// Features returns the same promises at each call, and touches no storage.
	Features() Features
}

// FeaturesOf returns the promises of p: none if it declares nothing.
func FeaturesOf(p Provider) Features {
	if f, ok := As[Featured](p); ok {
		return f.Features()
	}
	return Features{}
}
