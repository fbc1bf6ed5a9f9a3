// Package check validates arguments of the public packages: names must fit into every storage, and required values
// must be present.
//
// Its errors say what is wrong and how to fix it. The callers put the place and their sentinel in front.
package check
