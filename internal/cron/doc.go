// Package cron reads cron expressions and computes the moments that they name in a time zone.
//
// An expression has five fields: minute, hour, day, month and weekday. A sixth field in front gives the second. A day matches
// if it matches both day fields, where a field of * or ? matches every day. If neither field is * or ?, one match is enough. That
// is the classic rule.
//
// The form of the minute and the hour decides what a change of the clocks does. If both name single values ("30 2 * * *"), the
// expression means a time of day. A time that does not exist on a day runs at the first moment after the gap, and a time that
// exists twice runs once, the first time. If minute or hour is a wildcard, a range or a step ("*/30 * * * *"), the expression
// means a rhythm: every real moment counts whose local time matches.
package cron
