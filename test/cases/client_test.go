package cases

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http2"
)

// request is one request as a case writes it. It is sent byte for byte: what
// HAProxy makes of odd targets and hosts is part of what is tested.
type request struct {
	method string
	tls    bool
	host   string // Host header; "-" for none
	target string // raw request target
	sni    string // "-" for none
	header []string
	alpn   []string
	ws     bool // asks for a websocket
	body   int  // its length; 0 for none
	// untold bodies do not say their length: they are chunked by HTTP/1.
	untold bool
	// form is the text of the body, whose length is body as well.
	form string
	// varied bodies are not all the same letter.
	varied bool
	// session says what the session is that the request shows; empty for none.
	session string
	// cert is the client certificate, as authority.client has it; empty for none.
	cert string
}

// response is what the client got.
type response struct {
	status  int
	header  http.Header
	cookies []*http.Cookie
	body    string
	cert    string // common name of the served certificate
	agreed  string // protocol of the handshake
	pod     *answer
	port    int   // that of the client
	err     error // the connection failed, or was closed without an answer
}

const clientTimeout = 10 * time.Second

// do sends a request to one of the listeners of HAProxy.
func (r *request) do(httpPort, httpsPort int) response {
	port := httpPort
	if r.tls {
		port = httpsPort
	}
	conn, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), clientTimeout)
	if err != nil {
		return response{err: err}
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(clientTimeout))
	var out response
	if at, is := conn.LocalAddr().(*net.TCPAddr); is {
		out.port = at.Port
	}
	if r.tls {
		c := &tls.Config{InsecureSkipVerify: true, NextProtos: r.alpn} // which certificate is served is what is asked
		if r.sni != "-" {
			c.ServerName = r.sni
		}
		if r.cert != "" {
			own, err := pki().client(r.cert)
			if err != nil {
				return response{err: err}
			}
			// Whatever the server asks for: a client may try.
			c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own, nil }
		}
		secure := tls.Client(conn, c)
		if err := secure.Handshake(); err != nil {
			return response{err: err}
		}
		out.cert = secure.ConnectionState().PeerCertificates[0].Subject.CommonName
		conn = secure
		if out.agreed = secure.ConnectionState().NegotiatedProtocol; out.agreed == "h2" {
			out.http2(r, secure)
			return out
		}
	}
	if _, err := io.WriteString(conn, r.text()); err != nil {
		out.err = err
		// TLS 1.3 refuses a client after its own handshake has ended, and may do so while it writes.
		if _, why := conn.Read(make([]byte, 1)); why != nil && strings.Contains(why.Error(), "tls: ") {
			out.err = why
		}
		return out
	}
	out.read(conn, r.method)
	return out
}

// http2 sends the request over a connection that agreed on HTTP/2.
func (p *response) http2(r *request, conn net.Conn) {
	c, err := (&http2.Transport{}).NewClientConn(conn) //nolint:staticcheck // its successor dials by itself
	if err != nil {
		p.err = err
		return
	}
	var body io.Reader
	if r.body > 0 {
		body = strings.NewReader(r.content())
	}
	if r.untold {
		body = io.MultiReader(body) // of which the client knows no length
	}
	req, err := http.NewRequest(r.method, "https://"+r.host+r.target, body)
	if err != nil {
		p.err = err
		return
	}
	for _, h := range r.header {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Add(name, value)
	}
	res, err := c.RoundTrip(req)
	if err != nil {
		p.err = err
		return
	}
	p.take(res)
}

// content is the body.
func (r *request) content() string {
	if r.form != "" {
		return r.form
	}
	if r.varied {
		return fill(r.body)
	}
	return strings.Repeat("x", r.body)
}

// fill is a text of some length of which each part is another one.
func fill(length int) string {
	var b strings.Builder
	for i := 0; b.Len() < length; i++ {
		fmt.Fprintf(&b, "%d.", i)
	}
	return b.String()[:length]
}

func (r *request) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", r.method, r.target)
	if r.host != "-" {
		fmt.Fprintf(&b, "Host: %s\r\n", r.host)
	}
	for _, h := range r.header {
		b.WriteString(h + "\r\n")
	}
	if r.ws {
		b.WriteString("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
		return b.String()
	}
	b.WriteString("Connection: close\r\n")
	switch body := r.content(); {
	case r.untold:
		fmt.Fprintf(&b, "Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", r.body, body)
	case r.body > 0:
		fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", r.body, body)
	default:
		b.WriteString("\r\n")
	}
	return b.String()
}

func (p *response) read(from io.Reader, method string) {
	res, err := http.ReadResponse(bufio.NewReader(from), &http.Request{Method: method})
	if err != nil {
		p.err = err
		return
	}
	p.take(res)
}

func (p *response) take(res *http.Response) {
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		p.err = err
		return
	}
	p.status, p.header, p.cookies, p.body = res.StatusCode, res.Header, res.Cookies(), string(body)
	var a answer
	if json.Unmarshal(body, &a) == nil && a.Pod != "" {
		p.pod = &a
	}
}
