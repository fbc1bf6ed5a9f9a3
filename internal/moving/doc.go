// Package moving reads and writes the file in which instances travel from one store to another.
//
// The file has JSON objects, one on each line: a header, pages of instances, and an end. The pages of an instance follow each
// other. The bytes of payloads and events are base64; the view beside them is for people and is not read. The end has the number of
// pages and the SHA-256 of all lines before it, so that a file that was cut off or changed is noticed. So an import frees
// nothing before it has read the end.
//
// The names of fields are those of Go structs. A golden file in testdata holds them.
package moving
