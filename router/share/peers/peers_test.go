package peers

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/router/share"
	"github.com/fairlead/fairlead/test/freeport"
	"github.com/fairlead/fairlead/test/wait"
)

func certificates(t *testing.T, now time.Time) *Certificates {
	t.Helper()
	text, err := Issue(now)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Read([][]byte{text}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func freePorts(t *testing.T, n int) (out []string) {
	t.Helper()
	for range n {
		port, err := freeport.TCP()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprint("127.0.0.1:", port))
	}
	return out
}

// TestMembers: several processes share a limit over TLS, and one that ends leaves it
// kept.
func TestMembers(t *testing.T) {
	t.Parallel()
	ids, certs := freePorts(t, 3), certificates(t, time.Now())
	members := make([]*Member, len(ids))
	for i, id := range ids {
		members[i] = New(slog.New(slog.DiscardHandler), 0)
		members[i].Set(Config{Self: id, Members: ids, Certificates: certs})
		defer members[i].Close()
	}
	limit := share.Limit{Requests: 100, Per: time.Second, Burst: 20}
	key := share.Key{Namespace: "demo", Name: "limit/client"}
	wait.Poll{}.For(t, "an admitted request", func() error {
		if v := members[0].Take(t.Context(), key, limit); !v.Admitted {
			return fmt.Errorf("%+v", v)
		}
		return nil
	})
	var admitted, refused atomic.Int64
	began := time.Now()
	var all sync.WaitGroup
	load := func(m *Member, d time.Duration) {
		for time.Since(began) < d {
			if m.Take(t.Context(), key, limit).Admitted {
				admitted.Add(1)
			} else {
				refused.Add(1)
				<-time.After(time.Millisecond)
			}
		}
	}
	const took = 4 * time.Second
	for i, m := range members {
		for range 3 - i { // most of it at the first one
			all.Go(func() { load(m, took) })
		}
	}
	<-time.After(took / 2)
	members[2].Close()
	all.Wait()
	most := int64(float64(limit.Burst) + 100*time.Since(began).Seconds())
	t.Logf("%d of at most %d admitted, %d refused", admitted.Load(), most, refused.Load())
	if got := admitted.Load(); got > most || got < 80 {
		t.Errorf("%d admitted in %s, at most %d are right", got, took, most)
	}
}

// TestStrangers: without a certificate of the routers nothing is read, also with one that
// has ended or that is another's.
func TestStrangers(t *testing.T) {
	t.Parallel()
	ids := freePorts(t, 2)
	m := New(slog.New(slog.DiscardHandler), 0)
	m.Set(Config{Self: ids[0], Members: ids, Certificates: certificates(t, time.Now())})
	defer m.Close()
	stranger := certificates(t, time.Now())
	for name, config := range map[string]*tls.Config{
		"none":      {InsecureSkipVerify: true, MinVersion: tls.VersionTLS13},
		"another's": stranger.tls(),
	} {
		config.VerifyPeerCertificate = nil
		wait.Poll{}.For(t, "a connection", func() error {
			c, err := tls.Dial("tcp", ids[0], config)
			if err != nil {
				if errors.Is(err, syscall.ECONNREFUSED) {
					return err
				}
				return nil // refused by its certificate
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(5 * time.Second))
			_, _ = c.Write(appendFrame(appendHello(nil, preamble, ids[1]), &share.Message{Kind: share.Ask, Process: 1, Number: 1}))
			if _, err := c.Read(make([]byte, 1)); err == nil {
				t.Errorf("%s: it was answered", name)
			}
			return nil
		})
	}
	if _, err := Read([][]byte{mustIssue(t, time.Now().Add(-2*Life))}, time.Now()); err == nil {
		t.Error("a certificate that has ended is used")
	}
}

func mustIssue(t *testing.T, at time.Time) []byte {
	t.Helper()
	text, err := Issue(at)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestShown: a new certificate is accepted at once, and shown when all have it.
func TestShown(t *testing.T) {
	t.Parallel()
	now := time.Now()
	older, newer := mustIssue(t, now.Add(-12*time.Hour)), mustIssue(t, now)
	c, err := Read([][]byte{older, newer}, now)
	if err != nil {
		t.Fatal(err)
	}
	for after, want := range map[time.Duration]*tls.Certificate{0: &c.pairs[0], 59 * time.Minute: &c.pairs[0], time.Hour: &c.pairs[1], 13 * time.Hour: &c.pairs[1], 25 * time.Hour: nil} {
		if c.shown(now.Add(after)) != want {
			t.Errorf("after %s another certificate is shown", after)
		}
	}
	for i := range c.pairs {
		if c.accept([][]byte{c.pairs[i].Leaf.Raw}, nil) != nil {
			t.Errorf("certificate %d is not accepted", i)
		}
	}
}

// FuzzFrame: what is read is what was written, and nothing else is taken for a message.
func FuzzFrame(f *testing.F) {
	for _, m := range []*share.Message{
		{Kind: share.Ask, Process: 1, Number: 2, View: 3, Acting: true, Complete: true, Ends: time.Second},
		{Kind: share.Reply, Process: 1, Number: 2, View: 3, Consent: true, Line: 9},
		{Kind: share.Want, Process: 1, Number: 2, Key: share.Key{Namespace: "demo", Name: "limit/\x00\r\n\f"}, Limit: share.Limit{Requests: 5, Per: time.Second, Burst: 9}, Count: 3},
		{Kind: share.Give, Process: 1, Number: 2, Key: share.Key{Name: "x"}, Count: 3, Wait: time.Minute},
		{Kind: share.Return, Process: 1, Number: 2, Count: 1},
		{Kind: share.End, Process: 1, Key: share.Key{Name: "../\x00\r\n\t\f"}, Ends: time.Hour},
	} {
		f.Add(appendFrame(nil, m))
	}
	f.Add([]byte{0, 0})
	f.Add(bytes.Repeat([]byte{255}, 400))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := readFrame(bytes.NewReader(b))
		if err != nil {
			return
		}
		again, err := readFrame(bytes.NewReader(appendFrame(nil, m)))
		if err != nil || cmp.Diff(m, again) != "" {
			t.Errorf("%v: %s", err, cmp.Diff(m, again))
		}
		// No member is harmed by any message.
		n := share.New(share.Options{ID: "a", Process: 1, Send: func(string, *share.Message) {}, Answer: func(uint64, share.Verdict) {}}, 0)
		n.Members(0, []string{"a", "b"})
		n.Receive(time.Second, "b", m)
		n.Receive(time.Second, "b", again)
	})
}
