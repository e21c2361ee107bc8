package nameserver

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// Mute returns the address of a front before the server that passes updates on
// and refuses questions, as one before a hidden primary server does.
func (n Server) Mute(t *testing.T) Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return // It was closed.
			}
			go func() {
				defer client.Close()
				for n.pass(client) == nil {
				}
			}()
		}
	}()
	return Server{Address: l.Addr().String()}
}

// pass answers one message. Messages are passed on as they are: a signature
// holds for every byte.
func (n Server) pass(client net.Conn) error {
	m, err := readMessage(client)
	if err != nil {
		return err
	}
	const headerLength, opcode, answer, refused = 12, 0x78, 0x80, 5
	if len(m) < headerLength {
		return errors.New("no header")
	}
	if m[2]&opcode == 0 { // A question (RFC 1035, section 4.1.1).
		header := append([]byte{}, m[:headerLength]...)
		header[2] |= answer
		header[3] = refused
		clear(header[4:]) // Nothing follows.
		return writeMessage(client, header)
	}
	server, err := net.DialTimeout("tcp", n.Address, time.Second)
	if err != nil {
		return err
	}
	defer server.Close()
	if err := writeMessage(server, m); err != nil {
		return err
	}
	if m, err = readMessage(server); err != nil {
		return err
	}
	return writeMessage(client, m)
}

// readMessage reads what stands behind its length (RFC 1035, section 4.2.2).
func readMessage(r io.Reader) ([]byte, error) {
	var length [2]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	m := make([]byte, binary.BigEndian.Uint16(length[:]))
	_, err := io.ReadFull(r, m)
	return m, err
}

func writeMessage(w io.Writer, m []byte) error {
	_, err := w.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(m))), m...))
	return err
}
