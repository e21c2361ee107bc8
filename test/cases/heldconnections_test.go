package cases

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// hold opens connections from a source until so many are there, and returns how
// many of them HAProxy still has.
func (b *bed) hold(source string, port, n int) int {
	b.t.Helper()
	return held(b.open(source, port, n))
}

// holds is hold where it is known how many HAProxy keeps: on a busy machine it refuses the last ones late.
func (b *bed) holds(source string, port, n, want int) {
	b.t.Helper()
	conns := b.open(source, port, n)
	b.eventually(fmt.Sprintf("%s holds %d of %d connections", source, want, n), func() error {
		if there := held(conns); there != want {
			return fmt.Errorf("it holds %d", there)
		}
		return nil
	})
}

// open opens connections from a source. They are closed when the test ends.
func (b *bed) open(source string, port, n int) []net.Conn {
	b.t.Helper()
	conns := make([]net.Conn, 0, n)
	for range n {
		if c, err := b.dialFrom(source, port); err == nil {
			b.t.Cleanup(func() { _ = c.Close() })
			conns = append(conns, c)
		}
	}
	// HAProxy serves others meanwhile.
	if c, err := b.ask("127.0.0.99", false); err != nil {
		b.t.Errorf("another source while %s holds connections: %v", source, err)
	} else {
		_ = c.Close()
	}
	return conns
}

// held returns how many of silent connections HAProxy still has.
func held(conns []net.Conn) int {
	// All at once: HAProxy gives silent ones up after ten seconds.
	var there atomic.Int32
	var looking sync.WaitGroup
	for _, c := range conns {
		looking.Go(func() {
			_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
			if _, err := c.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
				there.Add(1)
			}
		})
	}
	looking.Wait()
	return int(there.Load())
}
