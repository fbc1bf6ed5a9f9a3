package cron

import (
	"math/bits"
	"time"
)

// years is after how many years the calendar repeats.
const years = 400

// comes reports whether any day matches.
func (e *Expr) comes() bool {
	for year := 2000; year < 2000+years; year++ {
		for month, ok := e.month.next(1); ok; month, ok = e.month.next(month + 1) {
			if e.daysOf(year, time.Month(month)) != 0 {
				return true
			}
		}
	}
	return false
}

// daysOf returns the days of a month that match, a bit for each.
func (e *Expr) daysOf(year int, month time.Month) uint64 {
	length := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
	first := int(time.Date(year, month, 1, 0, 0, 0, 0, time.UTC).Weekday())
	all := uint64(1)<<(length+1) - 2

	ofMonth := e.day.values
	for rest := e.lastDay; rest != 0; rest &= rest - 1 {
		if day := length - bits.TrailingZeros64(rest); day >= 1 {
			ofMonth |= 1 << day
		}
	}
	var ofWeek uint64
	for day := 1; day <= length; day++ {
		weekday := (first + day - 1) % 7
		nth := e.nthWeekday[weekday]
		if e.weekday.has(weekday) || nth>>((day+6)/7)&1 == 1 || day+7 > length && nth>>lastOfMonth&1 == 1 {
			ofWeek |= 1 << day
		}
	}
	if e.bothDays {
		return ofMonth & ofWeek & all
	}
	return (ofMonth | ofWeek) & all
}

// nextLocal returns the first local time that matches, is at least from and before limit, else the zero time.
func (e *Expr) nextLocal(from, limit time.Time) time.Time {
	year, month, day := from.Date()
	h, m, s, ok := e.clock(from.Clock())
	if !ok { // not today any more
		day++
		h, m, s, _ = e.clock(0, 0, 0)
	}
	for {
		found, ok := e.month.next(int(month))
		if !ok {
			year, month, day = year+1, 1, 1
			h, m, s, _ = e.clock(0, 0, 0)
			continue
		}
		if found != int(month) {
			month, day = time.Month(found), 1
			h, m, s, _ = e.clock(0, 0, 0)
		}
		if start := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC); !start.Before(limit) {
			return time.Time{}
		}
		if rest := e.daysOf(year, month) >> day << day; rest != 0 {
			if first := bits.TrailingZeros64(rest); first != day {
				day = first
				h, m, s, _ = e.clock(0, 0, 0)
			}
			return time.Date(year, month, day, h, m, s, 0, time.UTC)
		}
		month, day = month+1, 1 // a 13th month matches none
		h, m, s, _ = e.clock(0, 0, 0)
	}
}

// clock returns the first time of day that matches and is at least the given one, and whether there is one.
func (e *Expr) clock(hour, minute, second int) (h, m, s int, ok bool) {
	firstMinute, _ := e.minute.next(0)
	firstSecond, _ := e.second.next(0)
	if h, ok = e.hour.next(hour); !ok || h > hour {
		return h, firstMinute, firstSecond, ok
	}
	if m, ok = e.minute.next(minute); ok && m > minute {
		return h, m, firstSecond, true
	}
	if s, found := e.second.next(second); ok && found {
		return h, m, s, true
	}
	if m, ok = e.minute.next(minute + 1); ok {
		return h, m, firstSecond, true
	}
	h, ok = e.hour.next(hour + 1)
	return h, firstMinute, firstSecond, ok
}
