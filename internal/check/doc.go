// Package check holds what every door of the module demands of its callers: names that
// every storage can give back, and values that are there at all.
//
// Its errors say what is wrong and how to mend it, and nothing about where: each door
// puts that in front, together with the sentinel that its callers compare with.
package check
