// Package audit keeps the list of what operators did to a store. An act has one record: it is written before the act, as the intent,
// and once more after it, with the outcome. A record without an outcome belongs to an act that was interrupted.
package audit
