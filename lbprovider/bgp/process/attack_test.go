package process_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"
)

// phase is how far a session is when the attack begins.
type phase int

const (
	beforeOpen phase = iota
	afterOpen
	established
)

func (p phase) String() string {
	return [...]string{"before OPEN", "after OPEN", "established"}[p]
}

// attack is what a router says instead of behaving.
type attack struct {
	name  string
	phase phase
	bytes []byte
}

// closeLimit is how long a router that said everything waits for the other end to
// close.
const closeLimit = 5 * time.Second

// run brings the session to the phase, says what it is to say, and reads until
// the other end has understood that nothing more comes.
func (a *attack) run(conn net.Conn) error {
	if a.phase != beforeOpen {
		keepalives := 0
		err := behave(conn, func(kind byte) error {
			if kind == typeOpen && a.phase == afterOpen {
				if _, err := conn.Write(goodOpen()); err != nil {
					return err
				}
				return errEnough
			}
			if kind == typeKeepalive {
				if keepalives++; keepalives == 1 {
					return errEnough
				}
			}
			return nil
		})
		if !errors.Is(err, errEnough) {
			return err
		}
	}
	if _, err := conn.Write(a.bytes); err != nil {
		return err
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		return err
	}
	// gobgp sometimes leaves a connection open whose first message was wrong (fsm.h
	// is not yet the handler that has the connection). A router ends it then.
	if err := conn.SetReadDeadline(time.Now().Add(closeLimit)); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, conn)
	return err
}

// attacks are all that a hostile router is known to say.
func attacks() []attack {
	var all []attack
	for _, p := range []phase{beforeOpen, afterOpen, established} {
		for _, a := range slices.Concat(mistyped(), misframed()) {
			a.phase = p
			all = append(all, a)
		}
	}
	all = append(all, opens()...)
	for _, a := range slices.Concat(advisories(), updates(), attributes()) {
		a.phase = established
		all = append(all, a)
	}
	return all
}

// mistyped are messages of every type, and of types that do not exist, with
// bodies that none has.
func mistyped() []attack {
	var all []attack
	for _, kind := range []byte{0, 1, 2, 3, 4, 5, 6, 128, 255} {
		for name, body := range map[string][]byte{
			"nothing": nil, "one byte": {0}, "ones": bytes.Repeat([]byte{0xff}, 11), "zeros": make([]byte, 23), "all that fits": make([]byte, 4096-19),
		} {
			all = append(all, attack{name: fmt.Sprintf("type %d with %s", kind, name), bytes: message(kind, body)})
		}
	}
	return all
}

// misframed are headers that lie about what follows.
func misframed() []attack {
	var all []attack
	for _, kind := range []byte{typeOpen, typeUpdate, typeNotification, typeKeepalive, typeRefresh, 99} {
		for _, length := range []int{0, 18, 20, 4096, 4097, 65535} {
			all = append(all, attack{name: fmt.Sprintf("type %d of length %d", kind, length), bytes: framed(length, kind, nil)})
		}
	}
	zeros := message(typeKeepalive, nil)
	copy(zeros, make([]byte, 16))
	return append(all,
		attack{name: "marker of zeros", bytes: zeros},
		attack{name: "half a header", bytes: bytes.Repeat([]byte{0xff}, 11)},
		attack{name: "another protocol", bytes: []byte("GET / HTTP/1.1\r\nHost: router\r\n\r\n")},
		attack{name: "oversized with its body", bytes: framed(5000, typeUpdate, make([]byte, 5000-19))},
		attack{name: "many keepalives", bytes: bytes.Repeat(message(typeKeepalive, nil), 1000)},
		attack{name: "notification with a hostile text", bytes: message(typeNotification, append([]byte{6, 2, 40}, "\x1b[2J\n\r\t\x00\f{\"level\":\"INFO\"}\xff\xfe 12345678"...))},
	)
}

// opens are OPENs with capabilities that are not as they should be.
func opens() []attack {
	var all []attack
	open := func(name string, body []byte) {
		all = append(all, attack{name: "OPEN with " + name, bytes: append(message(typeOpen, body), message(typeKeepalive, nil)...)})
	}
	for _, code := range []byte{0, 1, 2, 5, 6, 8, 9, 64, 65, 67, 69, 70, 71, 73, 75, 128, 255} {
		open(fmt.Sprintf("empty capability %d", code), openBody([]byte{code, 0}))
		open(fmt.Sprintf("short capability %d", code), openBody([]byte{code, 1, 0}))
		open(fmt.Sprintf("odd capability %d", code), openBody([]byte{code, 5, 0xff, 1, 0xff, 1, 0xff}))
		open(fmt.Sprintf("capability %d beyond the end", code), openBody([]byte{code, 200, 7}))
	}
	for name, change := range map[string]func([]byte) []byte{
		"version 3":                 func(b []byte) []byte { b[0] = 3; return b },
		"hold time 1":               func(b []byte) []byte { b[3], b[4] = 0, 1; return b },
		"hold time 0":               func(b []byte) []byte { b[3], b[4] = 0, 0; return b },
		"identifier 0":              func(b []byte) []byte { copy(b[5:9], make([]byte, 4)); return b },
		"our identifier":            func(b []byte) []byte { copy(b[5:9], []byte{198, 18, 0, 2}); return b },
		"parameters beyond the end": func(b []byte) []byte { b[9] = 200; return b },
		"half a parameter":          func(b []byte) []byte { b[9] = 1; return append(b, 2) },
		"an unknown parameter":      func(b []byte) []byte { b[9] = 3; return append(b, 9, 1, 0) },
		"extended parameters":       func(b []byte) []byte { b[9] = 255; return append(b, 255, 0xff, 0xff, 2) },
	} {
		open(name, change(openBody()))
	}
	return all
}
