package history

import "testing"

// benchmarked are the events of one activity call, and one that fails.
func benchmarked() map[string]Event {
	return map[string]Event{
		"scheduled": {Body: &ActivityScheduled{Name: "Charge", Queue: "default", Input: make([]byte, 200), StartToClose: 10_000_000}},
		"completed": {At: 1767322800000003, Body: &ActivityCompleted{Scheduled: 2, Output: make([]byte, 200), Attempt: 1}},
		"failed":    {At: 1767322800000003, Body: &ActivityFailed{Scheduled: 2, Failure: sampleFailure, Attempt: 1}},
	}
}

func BenchmarkEncode(b *testing.B) {
	for name, e := range benchmarked() {
		b.Run(name, func(b *testing.B) {
			var dst []byte
			b.ReportAllocs()
			for b.Loop() {
				dst = Encode(dst[:0], e)
			}
			b.SetBytes(int64(len(dst)))
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, e := range benchmarked() {
		b.Run(name, func(b *testing.B) {
			data := Encode(nil, e)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decode(2, data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
