package rig

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/fairlead/fairlead/test/wait"
)

// Answer is what a client sees of a response.
type Answer struct {
	Status int
	Body   string
	Header http.Header
	// Certificate is what a TLS client was shown.
	Certificate *x509.Certificate
}

// Probe asks the router over one connection that it keeps. It is used by one
// goroutine.
type Probe struct {
	port   int
	secure bool
	conn   net.Conn
	reader *bufio.Reader
}

// NewProbe returns a probe of the HTTP port, or of the HTTPS port.
func NewProbe(secure bool) *Probe {
	if secure {
		return NewProbeAt(HTTPSPort, true)
	}
	return NewProbeAt(HTTPPort, false)
}

// NewProbeAt returns a probe of any port of the router, such as a Gateway's slot.
func NewProbeAt(port int, secure bool) *Probe { return &Probe{port: port, secure: secure} }

// Request is what a probe asks.
type Request struct {
	// Method other than GET has a body.
	Method string
	// Host is the Host header, Name the server name of TLS: Host if it is
	// empty, none if it is "-".
	Host, Name string
	Path       string
	// Header are further lines, "Name: value".
	Header []string
	// From is the client's address, on the loopback device, or empty.
	From string
}

// Get asks for a path of a host. If the connection was closed, it tries once
// more over a new one.
func (p *Probe) Get(host, path string) (Answer, error) {
	fresh := p.conn == nil
	r := Request{Method: http.MethodGet, Host: host, Path: path}
	a, err := p.Ask(r)
	if err != nil && !fresh {
		a, err = p.Ask(r)
	}
	return a, err
}

// Ask sends a request over the connection that is there, or a new one.
func (p *Probe) Ask(r Request) (Answer, error) {
	if p.conn == nil {
		name := r.Name
		switch name {
		case "":
			name = r.Host
		case "-":
			name = ""
		}
		if err := p.dial(name, r.From); err != nil {
			return Answer{}, err
		}
	}
	a, keep, err := p.exchange(r)
	if err != nil || !keep {
		p.Close()
	}
	return a, err
}

func (p *Probe) dial(host, from string) error {
	dialer := net.Dialer{Timeout: 5 * time.Second}
	if from != "" {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(from)}
	}
	conn, err := dialer.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", p.port))
	if err != nil {
		return fmt.Errorf("connect to the router: %w", err)
	}
	if p.secure {
		conn = tls.Client(conn, &tls.Config{ServerName: host, InsecureSkipVerify: true})
	}
	p.conn, p.reader = conn, bufio.NewReader(conn)
	return nil
}

func (p *Probe) exchange(r Request) (Answer, bool, error) {
	if err := p.conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return Answer{}, false, fmt.Errorf("ask the router: %w", err)
	}
	header, body := append([]string{"Host: " + r.Host}, r.Header...), ""
	if r.Method != http.MethodGet {
		body = "some text"
		header = append(header, fmt.Sprintf("Content-Length: %d", len(body)))
	}
	if _, err := fmt.Fprintf(p.conn, "%s %s HTTP/1.1\r\n%s\r\n\r\n%s", r.Method, r.Path, strings.Join(header, "\r\n"), body); err != nil {
		return Answer{}, false, fmt.Errorf("ask the router: %w", err)
	}
	response, err := http.ReadResponse(p.reader, nil)
	if err != nil {
		return Answer{}, false, fmt.Errorf("read the router's answer: %w", err)
	}
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close() // read to its end
	if err != nil {
		return Answer{}, false, fmt.Errorf("read the router's answer: %w", err)
	}
	a := Answer{Status: response.StatusCode, Body: string(text), Header: response.Header}
	if secure, ok := p.conn.(*tls.Conn); ok {
		a.Certificate = secure.ConnectionState().PeerCertificates[0]
	}
	return a, !response.Close, nil
}

// Close closes the connection; the next request opens one.
func (p *Probe) Close() {
	if p.conn != nil {
		_ = p.conn.Close() // nothing is lost
		p.conn = nil
	}
}

// Serial returns the serial number of the certificate that a new connection
// with that server name gets.
func Serial(host string) (string, error) { return SerialAt(HTTPSPort, host) }

// SerialAt is Serial for any port of the router.
func SerialAt(port int, host string) (string, error) {
	p := NewProbeAt(port, true)
	if err := p.dial(host, ""); err != nil {
		return "", err
	}
	defer p.Close()
	conn, ok := p.conn.(*tls.Conn)
	if !ok {
		return "", errors.New("not a TLS connection")
	}
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second)) // a handshake without it still ends
	if err := conn.Handshake(); err != nil {
		return "", fmt.Errorf("handshake with the router: %w", err)
	}
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.String(), nil
}

// glance is the pause between two looks, the error of what is measured. Who looks as fast as it goes takes a
// processor from the router that is to show the change. It is a system call because a timer of Go's
// takes a millisecond where nothing else is to do.
const glance = 100 * time.Microsecond

// Until calls seen until it is true, with short pauses.
func Until(limit time.Duration, what string, seen func() (bool, error)) error {
	pause := syscall.NsecToTimespec(int64(glance))
	return wait.Poll{Limit: limit, Every: wait.NoPause}.Until(context.Background(), what, func() error {
		ok, err := seen()
		if err == nil && !ok {
			_ = syscall.Nanosleep(&pause, nil) // a signal shortens it
		}
		if err == nil {
			err = wait.True(ok)
		}
		return err
	})
}
