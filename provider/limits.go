package provider

import "time"

// Limits that every provider enforces with ErrInvalid (names), ErrTooLarge (sizes) or
// ErrInboxFull, before anything is stored.
const (
	MaxName          = 512              // bytes of an ID, name or key
	MaxPayload       = 2<<20 + 64<<10   // bytes of one payload: 2 MiB of user data plus the engine's envelope
	MaxCommitRows    = 25_000           // of each kind in one commit: events, messages consumed, tasks, timers, sends, starts
	MaxCommitBytes   = 32 << 20         // payload bytes of one commit, or of one batch of reports or renewals
	MaxFetchMessages = 1_000            // messages of one fetched turn
	MaxFetchBytes    = 4 << 20          // bytes of one fetched turn or history page
	MaxInboxMessages = 100_000          // waiting messages of one instance, for outside senders
	MaxInboxBytes    = 256 << 20        // their bytes
	MaxActs          = 100              // request IDs of Steer that an instance remembers
	MaxPage          = 1_000            // rows of a page
	MinRows          = 1_000            // rows that List, Count with Max, Prune and Trim look at before they may stop
	MaxSpared        = 10_000           // keys that a prune spares
	MaxBatch         = 1_000            // items of a fetch, report, renewal or release
	MaxWait          = time.Minute      // longest time that a call blocks for Wait; a longer Wait is shortened
	MaxRequests      = 1_000            // requests with Messages that an instance remembers
	MaxLease         = 24 * time.Hour   // longest lease
	MaxExcerpt       = 1_024            // bytes of an excerpt
	MaxGrouped       = 5_000            // failed instances that FailureGroups looks at
	MaxGroupTexts    = 10               // versions of a group, and texts unless FailureGroupsRequest.Texts asks for more
	MaxAhead         = time.Second      // how far ahead a fetch of turns may look
	AskHome          = time.Second / 10 // how long a question is left to the owner of its instance
)
