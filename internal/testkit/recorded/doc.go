// Package recorded records what a node fetches and commits, and plays it to a node of a later commit: for the same turn the engine
// makes the same requests.
//
// A [Recorder] decorates the provider of a node that holds no execution between turns. It writes down each turn with its whole history, and the
// calls that end it. [Play] gives these turns to another node, one by one and at their times, and compares the calls.
//
// Two requests are equal if their JSON is, but for what a node draws at random:
//
//   - IDs of commits, and of those of started instances;
//   - tokens of leases, and the owner of a task's lease or of a pinned instance;
//   - keys of started instances and IDs of sent messages. Each stands for the recorded one of the same event, wherever it is;
//   - the delay of a turn that is given back, which has jitter;
//   - the message of a failed turn behind its first line, which has stacks.
//
// A field that is nil or an empty list equals one that the recording does not know. Times are compared: [Play] runs in virtual time, by the
// recorded clock.
package recorded
