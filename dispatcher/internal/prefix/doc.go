// Package prefix makes what an execution opens with from the prefix of a history: for a reset of an instance, or a fork into another one.
// It has all that goes along. Tasks and timers are those that the code waits for at the end of the prefix. Messages are those that the
// origin received later. Status, key-values and attributes are those that the code had set.
package prefix
