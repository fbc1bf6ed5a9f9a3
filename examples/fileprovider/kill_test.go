package fileprovider

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
)

// victim names the store of a child process that these tests kill.
const victim = "FILEPROVIDER_VICTIM"

// senders is the number of goroutines of the child that send at once, each to its own instance.
const senders = 8

func createRequest(n int) provider.CreateRequest {
	return provider.CreateRequest{ID: fmt.Sprint("i-", n), Key: provider.UUID{1, byte(n)}, Commit: provider.UUID{2, byte(n)}, Name: "n"}
}

func sendRequest(n int, text string) provider.SendRequest {
	return provider.SendRequest{Key: provider.UUID{1, byte(n)}, Message: provider.NewMessage{Payload: []byte(text)}}
}

// sendUntilKilled sends messages forever and prints each acknowledged one.
func sendUntilKilled(path string) int {
	ctx := context.Background()
	p, err := Open(ctx, path)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	var group sync.WaitGroup
	for n := range senders {
		group.Go(func() {
			if _, err := p.Create(ctx, createRequest(n)); err != nil && !errors.Is(err, provider.ErrExists) {
				fmt.Println(err)
				return
			}
			for i := 0; ; i++ {
				text := fmt.Sprintf("%d-%d-%d", n, os.Getpid(), i)
				if _, err := p.Send(ctx, sendRequest(n, text)); err != nil {
					fmt.Println(err)
					return
				}
				fmt.Println("stored", text) // one write, so that lines of goroutines do not mix
			}
		})
	}
	group.Wait()
	return 1
}

// killAfter runs a child until it has printed so many lines, kills it, and returns the printed messages.
func killAfter(t *testing.T, path string, lines int) (stored []string) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), victim+"="+path)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	for scan := bufio.NewScanner(out); scan.Scan(); {
		text, ok := strings.CutPrefix(scan.Text(), "stored ")
		if !ok {
			t.Errorf("the child printed: %s", scan.Text())
		}
		stored = append(stored, text)
		if len(stored) == lines {
			if err := child.Process.Kill(); err != nil { // SIGKILL; lines in the pipe count as printed
				t.Fatal(err)
			}
		}
	}
	if err := child.Wait(); err == nil {
		t.Error("the child exited early")
	}
	return stored
}

// A process is killed again and again while it works. Each time the store opens, every acknowledged message is
// there once and in order.
func TestKilledProcessLosesNothing(t *testing.T) {
	path := newFile(t)
	var told []string
	for round := range 5 {
		told = append(told, killAfter(t, path, 100+37*round)...)
		p := open(t, path)
		inboxes := messages(t, p)
		for n := range senders {
			seen, last := map[string]int{}, -1
			for i, text := range inboxes[n] {
				seen[text] = i
			}
			if len(seen) != len(inboxes[n]) {
				t.Errorf("%d messages of %d are there twice", len(inboxes[n])-len(seen), len(inboxes[n]))
			}
			for _, text := range told {
				at, found := seen[text]
				switch {
				case !strings.HasPrefix(text, fmt.Sprint(n, "-")):
				case !found:
					t.Errorf("message %s was acknowledged and is gone", text)
				case at <= last:
					t.Errorf("message %s is at %d, the one before it at %d", text, at, last)
				default:
					last = at
				}
			}
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// messages returns the messages in each inbox, without the start message, and releases the turns.
func messages(t *testing.T, p *Provider) (inboxes [senders][]string) {
	t.Helper()
	token := provider.UUID{3}
	res, err := p.FetchTurns(t.Context(), provider.FetchTurnsRequest{
		Owner: "o", Token: token, Lease: time.Hour, Capabilities: []provider.Capability{{Name: "n"}}, Max: senders,
		MaxMessages: provider.MaxFetchMessages,
	})
	if err != nil || len(res.Turns) != senders {
		t.Fatalf("%d turns, %v", len(res.Turns), err)
	}
	for _, turn := range res.Turns {
		n := turn.Instance.Key[1]
		for _, m := range turn.Messages[1:] {
			inboxes[n] = append(inboxes[n], string(m.Payload))
		}
		if turn.More {
			t.Error("more messages wait than one fetch returns: kill the children earlier")
		}
	}
	_, err = p.ReleaseTurns(t.Context(), provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{{Kind: provider.ReleaseToken, Token: token}}})
	if err != nil {
		t.Fatal(err)
	}
	return inboxes
}

// Only one process can open the file. A second one gets an error until the first has exited.
func TestOneProcessAtATime(t *testing.T) {
	path := newFile(t)
	p := open(t, path)
	if _, err := Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("got %v, want a refusal", err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, path)
}
