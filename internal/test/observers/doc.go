// Package observers tests what observers get, in each mode of the cache: each commit once, and the same tree of spans.
package observers
