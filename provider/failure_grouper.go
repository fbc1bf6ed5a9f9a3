package provider

import "context"

// FailureGrouper is implemented by providers that group failed instances. It stores CommitTurnRequest.Excerpt and FailureGroup, returns them
// in each Instance, applies Filter.FailureGroup, and declares [Features].FailureGroups.
type FailureGrouper interface {
	// FailureGroups returns the groups of the newest failed instances, by the end of the newest instance in each, newest first. It looks at
	// [MaxGrouped] instances at most, of all names. Instances that another one has replaced count; those without a group do not.
	FailureGroups(ctx context.Context, req FailureGroupsRequest) (FailureGroupsResult, error)
}

// FailureGroupsRequest asks for groups. A field that is not set leaves nothing out.
type FailureGroupsRequest struct {
	Name       string // only instances of this orchestration
	Group      string // only this group; FailureGroup.Texts then has its different excerpts
	Texts      int    // with Group: at most this many different excerpts, 1 to MaxGrouped; 0: MaxGroupTexts
	EndedAfter Time   // inclusive
	Max        int    // groups, 1 to MaxPage; 0: MaxPage
}

// FailureGroupsResult has the groups. AtLeast reports that older failed instances were not looked at, so that counts may be higher, First
// earlier, and groups may be missing.
type FailureGroupsResult struct {
	Groups  []FailureGroup
	AtLeast bool
	Now     Time
}

// FailureGroup is a group of failed instances.
type FailureGroup struct {
	Group    string
	Name     string   // the orchestration of Newest
	Versions []string // the code versions of its newest instances, sorted, at most MaxGroupTexts
	Count    int64
	First    Time         // the earliest EndedAt that was looked at
	Last     Time         // the latest one
	Newest   UUID         // the key of the instance that ended last
	Excerpt  []byte       // that of Newest
	Texts    []FailedText // with FailureGroupsRequest.Group: the most frequent first
}

// FailedText is an excerpt and how many instances of a group have it.
type FailedText struct {
	Excerpt []byte
	Count   int64
}
