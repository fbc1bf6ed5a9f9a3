package tasktoken_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/internal/tasktoken"
	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/provider"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func sample() tasktoken.Token {
	return tasktoken.Token{
		Task:    provider.TaskRef{Key: provider.UUID{1, 2, 15: 3}, Execution: 4, EventID: 70_000},
		Attempt: 2, Holder: provider.UUID{9, 15: 8}, Lease: 30 * time.Second,
	}
}

func TestTokenComesBack(t *testing.T) {
	t.Parallel()
	text := tasktoken.Encode(sample())
	got, err := tasktoken.Decode(text)
	if diff := cmp.Diff(sample(), got); diff != "" || err != nil {
		t.Errorf("%v: %s", err, diff)
	}
	if len(text) > 80 {
		t.Errorf("%d bytes: %s", len(text), text)
	}
	if strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
		t.Errorf("%s does not fit into a URL", text)
	}
}

// Whatever is cut off, added or changed: it is no token any more.
func TestDamagedTokenIsRefused(t *testing.T) {
	t.Parallel()
	text := tasktoken.Encode(sample())
	bad := []string{"", " ", "AQ", text + "A", text + "=", " " + text, text + "\n", text + text, strings.Repeat("A", 100)}
	for i := range text {
		bad = append(bad, text[:i], text[:i]+text[i+1:])
		for _, c := range "A_z0" {
			if changed := text[:i] + string(c) + text[i+1:]; changed != text {
				bad = append(bad, changed)
			}
		}
	}
	for _, b := range bad {
		if got, err := tasktoken.Decode(b); err == nil {
			t.Errorf("%q was read as %+v", b, got)
		}
	}
}

// A task that cannot be is refused, though its checksum is right.
func TestImpossibleTokenIsRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*tasktoken.Token){
		"no key":       func(t *tasktoken.Token) { t.Task.Key = provider.UUID{} },
		"no holder":    func(t *tasktoken.Token) { t.Holder = provider.UUID{} },
		"no execution": func(t *tasktoken.Token) { t.Task.Execution = 0 },
		"no event":     func(t *tasktoken.Token) { t.Task.EventID = -1 },
		"no attempt":   func(t *tasktoken.Token) { t.Attempt = 0 },
		"no lease":     func(t *tasktoken.Token) { t.Lease = 0 },
	} {
		token := sample()
		change(&token)
		if got, err := tasktoken.Decode(tasktoken.Encode(token)); err == nil {
			t.Errorf("%s: was read as %+v", name, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(tasktoken.Encode(sample()))
	f.Add(base64.RawURLEncoding.EncodeToString(make([]byte, 60)))
	f.Fuzz(func(t *testing.T, text string) {
		token, err := tasktoken.Decode(text)
		if err == nil && tasktoken.Encode(token) != text {
			t.Errorf("%q is a second text of %+v", text, token)
		}
	})
}
