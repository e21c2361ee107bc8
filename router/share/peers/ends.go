package peers

import (
	"iter"
	"net"
	"time"

	"github.com/fairlead/fairlead/router/share"
)

// Ends are sessions that are over, which members let each other know of: each one as soon as it ends, and
// all of them at the begin of a connection, so that a member that was away or has just begun learns them, too.
type Ends interface {
	// Take notes what another member knows: the name of a session, which is not yet checked, and for how long it has
	// to be known.
	Take(name string, remains time.Duration)
	// All are those that this member knows, with what it has learnt of others.
	All() iter.Seq2[string, time.Duration]
}

// Share has this member let others know of sessions that are over. It is to be called before Set.
func (m *Member) Share(e Ends) { m.ends = e }

// SpreadEnd lets the others know that a session is over. Those that cannot be reached learn it when they can.
func (m *Member) SpreadEnd(name string, remains time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	msg := m.endOf(name, remains)
	for _, l := range m.links {
		select {
		case l.out <- msg:
		default:
			l.missed.Store(true)
		}
	}
}

func (m *Member) endOf(name string, remains time.Duration) *share.Message {
	return &share.Message{Kind: share.End, Process: m.process, Key: share.Key{Name: name}, Ends: remains}
}

// writeEnds writes all sessions that are known to be over.
func (m *Member) writeEnds(c net.Conn) error {
	if m.ends == nil {
		return nil
	}
	buf := make([]byte, 0, 16<<10)
	send := func() error {
		_ = c.SetWriteDeadline(time.Now().Add(writeTime))
		_, err := c.Write(buf)
		buf = buf[:0]
		return err
	}
	for name, remains := range m.ends.All() {
		m.mu.Lock()
		msg := m.endOf(name, remains)
		m.mu.Unlock()
		if buf = appendFrame(buf, msg); len(buf) > cap(buf)-maxFrame-2 {
			if err := send(); err != nil {
				_ = c.Close()
				return err
			}
		}
	}
	if len(buf) > 0 {
		if err := send(); err != nil {
			_ = c.Close()
			return err
		}
	}
	return nil
}

func (m *Member) takeEnd(msg *share.Message) {
	if m.ends != nil {
		m.ends.Take(msg.Key.Name, msg.Ends)
	}
}
