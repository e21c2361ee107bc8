package canary

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead/fairlead/api/terminal"
)

// Target is what a probe asks for, and where.
type Target struct {
	// Host is the host that the routers have admitted the Route with.
	Host string
	// Addresses are where clients reach the routers, and Port is that of HTTPS.
	Addresses []string
	Port      int32
	// Backend is the port of the server that the Route leads to.
	Backend int32
	// Rotate says that it is to be known when a port has been well for long.
	Rotate bool
}

// dialer opens connections; net.Dialer.DialContext is one.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// errWrongPort is an answer of the canary, but not of the port that the Route names.
var errWrongPort = errors.New("the answer came from another port than the Route leads to")

// probe asks at an address, at most for as long as the context lasts. What
// answers is not trusted: it gets a header and nothing else, no redirect is
// followed, and little of its answer is read.
func probe(ctx context.Context, dial dialer, t Target, address string) error {
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dial(ctx, network, net.JoinHostPort(address, strconv.Itoa(int(t.Port))))
		},
		// The server's certificate is its own; the answer says who it is.
		TLSClientConfig:        &tls.Config{ServerName: t.Host, InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, //nolint:gosec // nothing secret is sent, and nothing of the answer is used
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: mostHeader,
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+t.Host+"/", http.NoBody)
	if err != nil {
		return fmt.Errorf("the host %q cannot be asked for", terminal.Line(t.Host))
	}
	request.Header.Set("User-Agent", "fairlead-canary")
	response, err := client.Do(request)
	if err != nil {
		return plain(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, mostBody))
	if err != nil {
		return plain(err)
	}
	return judge(t, response.StatusCode, response.Header.Get(headerPort), string(body))
}

// judge says what is wrong with an answer.
func judge(t Target, status int, port, body string) error {
	switch {
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status >= http.StatusInternalServerError:
		return fmt.Errorf("status code %d: the router has no way to the pods of the canary, or is overloaded", status)
	case status != http.StatusOK:
		return fmt.Errorf("status code %d, expected 200: something else answers", status)
	case !strings.Contains(body, answer):
		return fmt.Errorf("the body is not that of the canary: something else answers")
	case port == "":
		return fmt.Errorf("the header %s is missing: something else answers", headerPort)
	case port != strconv.Itoa(int(t.Backend)):
		return errWrongPort
	}
	return nil
}

// plain returns an error without what is another one at each probe, such as the
// port of the client, and without what does not belong into a line of text.
func plain(err error) error {
	text, operation, name := err.Error(), (*net.OpError)(nil), (*net.DNSError)(nil)
	switch {
	case errors.As(err, &name):
		return &nameError{server: terminal.Excerpt(name.Server, mostText), text: terminal.Excerpt("DNS: "+name.Err+": "+name.Name, mostText)}
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		text = "no answer in time"
	case errors.As(err, &operation):
		text = operation.Op + ": " + operation.Err.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		text = "the connection was closed without an answer"
	default:
		for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
			text = inner.Error()
		}
	}
	return errors.New(terminal.Excerpt(text, mostText))
}

// nameError says that the name of an address could not be resolved.
type nameError struct{ server, text string }

func (e *nameError) Error() string { return e.text }

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// ask probes the addresses one after the other, from the nth on, until one has the
// right answer: a cluster may be unable to reach one family of addresses, or one
// node. Each has its share of the time.
func ask(ctx context.Context, dial dialer, t Target, nth int) error {
	number := min(len(t.Addresses), mostAddresses)
	var failed []error
	for i := range number {
		address := t.Addresses[(nth+i)%len(t.Addresses)]
		limited, cancel := context.WithTimeout(ctx, probeTimeout/time.Duration(number))
		err := probe(limited, dial, t, address)
		cancel()
		if err == nil {
			return nil
		}
		failed = append(failed, fmt.Errorf("at %s: %w", net.JoinHostPort(terminal.Excerpt(address, mostText), strconv.Itoa(int(t.Port))), err))
	}
	return errors.Join(failed...)
}
