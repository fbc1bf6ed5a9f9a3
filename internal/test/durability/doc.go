// Package durability proves that nobody is told of what the disk does not have: neither by a store in a file, which is
// copied from under a stopped process and whose writes and syncs are followed one by one, nor by Postgres, whose server is
// killed. It holds tests only.
//
// What was told is written down by a shop ([shop] in the tests): each call that returned, each activity that began, each outcome that
// was seen has a text of its own that also stands in what must be stored by then. So it can be looked for in a
// copy, in a store that came back, and in the bytes that go to the disk.
package durability
