package webhook

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// Options say how the program is reached.
type Options struct {
	// URL is https://host:port, unix:///path/of/a/socket, or http://host:port of
	// this machine's loopback.
	URL string
	// CA are the CA certificates in PEM that verify the server; nil means those of
	// the system.
	CA []byte
	// Certificate returns the client certificate, or is nil. It is called at every
	// handshake, so that the certificate can be renewed.
	Certificate func() (*tls.Certificate, error)
	// Token returns the bearer token, or is nil. It is called for every request.
	Token func() (string, error)
	// Now returns the time; nil means time.Now.
	Now func() time.Time
}

// Client asks a program over HTTP. It may be used concurrently.
type Client struct {
	options Options
	base    string
	http    *http.Client
	breaker breaker
}

var (
	_ hook.LoadBalancerHook = (*Client)(nil)
	_ hook.DNSHook          = (*Client)(nil)
)

// New returns a client. It sends nothing yet.
func New(o Options) (*Client, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, fmt.Errorf("read the URL of the webhook: %w", err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute}
	base := strings.TrimSuffix(o.URL, "/")
	switch u.Scheme {
	case "https":
	case "http":
		// A host on the way could answer in its place, and read a token.
		if !Loopback(u.Hostname()) {
			return nil, fmt.Errorf("the webhook's URL %q is plain http to another machine: use https, unix, or a loopback address such as 127.0.0.1", o.URL)
		}
	case "unix":
		base = "http://webhook"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", u.Path)
		}
	default:
		return nil, fmt.Errorf("the webhook's URL %q is invalid; begin it with https://, http:// or unix://", o.URL)
	}
	if o.CA != nil {
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(o.CA) {
			return nil, errors.New("the CA of the webhook holds no certificate")
		}
	}
	if o.Certificate != nil {
		transport.TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return o.Certificate() }
	}
	return &Client{options: o, base: base, http: &http.Client{Transport: transport, CheckRedirect: NoRedirect}}, nil
}

// Loopback reports whether a host is this machine itself.
func Loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.Unmap().IsLoopback()
}

// NoRedirect has a client follow no redirection: the administrator chooses the
// address of a program, not the program that answers.
func NoRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Name returns "webhook:" and the URL.
func (c *Client) Name() string { return "webhook:" + c.options.URL }

// Capabilities asks what the program can do, and whether it has our version.
func (c *Client) Capabilities(ctx context.Context) (hook.Capabilities, error) {
	var out hook.Capabilities
	if _, err := c.post(ctx, PathCapabilities, Request{}, &out); err != nil {
		return out, err
	}
	if !slices.Contains(out.Versions, hook.Version) {
		return out, hook.Errorf(hook.ClassUnsupported, "the webhook speaks %v, and we speak %s", out.Versions, hook.Version)
	}
	return out, nil
}

// Validate asks for problems. A program that does not answer reports none:
// Ensure will report that it does not answer.
func (c *Client) Validate(ctx context.Context, spec *hook.Spec) []hook.FieldProblem {
	var out Problems
	if _, err := c.post(ctx, PathValidate, Request{Spec: spec}, &out); err != nil {
		return nil
	}
	return out.Problems
}

// Ensure passes a Spec on. An answer 202 is a Result that is Pending.
func (c *Client) Ensure(ctx context.Context, spec *hook.Spec) (*hook.Result, error) {
	var out hook.Result
	answer, err := c.post(ctx, PathEnsure, Request{Spec: spec}, &out)
	if err != nil {
		return answer.result, err
	}
	if answer.status == http.StatusAccepted {
		if out.State == "" || out.State == hook.StateReady {
			out.State = hook.StatePending
		}
		out.RetryAfter = answer.pause(out.RetryAfter)
	}
	return &out, nil
}

// UpdateTargets passes targets on.
func (c *Client) UpdateTargets(ctx context.Context, spec *hook.Spec) (*hook.TargetResult, error) {
	var out hook.TargetResult
	if _, err := c.post(ctx, PathTargets, Request{Spec: spec}, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// Describe asks what exists.
func (c *Client) Describe(ctx context.Context, ref hook.Ref) (*hook.Result, error) {
	var out hook.Result
	if _, err := c.post(ctx, PathDescribe, Request{Ref: &ref}, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// Delete asks to delete a load balancer. An answer 202 means that it is not done
// yet.
func (c *Client) Delete(ctx context.Context, d *hook.Deletion) (*hook.DeleteResult, error) {
	var out hook.DeleteResult
	answer, err := c.post(ctx, PathDelete, Request{Ref: &d.Ref, Annotations: d.Annotations, Orphan: d.Orphan}, &out)
	if err != nil {
		return nil, err
	}
	if answer.status == http.StatusAccepted {
		out.Done = false
	}
	if !out.Done {
		out.RetryAfter = answer.pause(out.RetryAfter)
	}
	return &out, nil
}

// ListOwned asks for all load balancers of the cluster.
func (c *Client) ListOwned(ctx context.Context) ([]hook.Ref, error) {
	var out Owned
	_, err := c.post(ctx, PathOwned, Request{}, &out)
	return out.Refs, err
}

// ResolveZone asks for a zone.
func (c *Client) ResolveZone(ctx context.Context, selector hook.ZoneSelector) (hook.Zone, error) {
	var out hook.Zone
	_, err := c.post(ctx, PathZone, Request{Selector: &selector}, &out)
	return out, err
}

// EnsureRecord passes a record on. An answer 202 is one that is pending.
func (c *Client) EnsureRecord(ctx context.Context, record *hook.Record, zone hook.Zone) (*hook.RecordResult, error) {
	var out hook.RecordResult
	answer, err := c.post(ctx, PathEnsureRecord, Request{Record: record, Zone: &zone}, &out)
	if err != nil {
		return nil, err
	}
	if answer.status == http.StatusAccepted {
		out.Pending = true
	}
	if out.RetryAfter == 0 {
		out.RetryAfter = hook.Duration(answer.retryAfter)
	}
	return &out, nil
}

// DeleteRecord asks to delete a record.
func (c *Client) DeleteRecord(ctx context.Context, record *hook.Record, zone hook.Zone) error {
	_, err := c.post(ctx, PathDeleteRecord, Request{Record: record, Zone: &zone}, nil)
	if hook.ClassOf(err) == hook.ClassNotFound {
		return nil
	}
	return err
}

type answer struct {
	status     int
	retryAfter time.Duration
	result     *hook.Result
}

// post makes a call. Its error is a *hook.Error.
func (c *Client) post(ctx context.Context, path string, in Request, out any) (answer, error) {
	if left := c.breaker.open(c.options.Now()); left > 0 {
		return answer{}, &hook.Error{Class: hook.ClassUnavailable, Action: path, RetryAfter: left, Message: "the webhook has failed five times in a row; it is left alone for half a minute"}
	}
	limit := callTime
	if path == PathEnsure {
		limit = ensureTime
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	a, err := c.send(ctx, path, in, out)
	class := hook.ClassOf(err)
	c.breaker.count(c.options.Now(), class == hook.ClassUnavailable || class == hook.ClassInternal)
	return a, err
}

func (c *Client) send(ctx context.Context, path string, in Request, out any) (answer, error) {
	fail := func(class hook.Class, format string, args ...any) (answer, error) {
		e := hook.Errorf(class, format, args...)
		e.Action = path
		return answer{}, e
	}
	in.APIVersion = hook.Version
	body, err := json.Marshal(in)
	if err != nil {
		return fail(hook.ClassInternal, "write the request: %v", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader(body)) //nolint:gosec // the administrator names the URL
	if err != nil {
		return fail(hook.ClassInternal, "make the request: %v", err)
	}
	req.Header.Set("Content-Type", "application/json")
	sum := sha256.Sum256(body)
	uid := ""
	if in.Spec != nil {
		uid = in.Spec.Ref.UID + "-"
	} else if in.Ref != nil {
		uid = in.Ref.UID + "-"
	}
	req.Header.Set(HeaderIdempotency, uid+hex.EncodeToString(sum[:8]))
	if c.options.Token != nil {
		token, err := c.options.Token()
		if err != nil {
			return fail(hook.ClassDenied, "read the token: %v", err)
		}
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(token))
	}
	response, err := c.http.Do(req) //nolint:gosec // the administrator names the URL
	if err != nil {
		return fail(hook.ClassUnavailable, "%v", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err != nil || len(text) > maxBody {
		return fail(hook.ClassUnavailable, "read the answer: more than %d bytes, or %v", maxBody, err)
	}
	a := answer{status: response.StatusCode, retryAfter: c.retryAfter(response.Header)}
	if a.status != http.StatusOK && a.status != http.StatusAccepted {
		var err error
		a.result, err = failed(path, a, text)
		return a, err
	}
	if out == nil {
		return a, nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fail(hook.ClassUnavailable, "the answer is not what the protocol says: %s", printable(err.Error()))
	}
	if err := check(out); err != nil {
		return fail(hook.ClassInternal, "the answer is refused: %v", err)
	}
	return a, nil
}

// retryAfter reads the header of that name: seconds, or a time.
func (c *Client) retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(min(max(seconds, 0), int(maxRetryAfter.Seconds()))) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(c.options.Now()), 0), maxRetryAfter)
}

// failed returns the error of an answer that is not 200 or 202.
func failed(path string, a answer, text []byte) (*hook.Result, error) {
	var f Failure
	e := &hook.Error{Class: classOf(a.status), Action: path, RetryAfter: a.retryAfter}
	if err := json.Unmarshal(text, &f); err != nil || f.Error.Message == "" {
		e.Message = fmt.Sprintf("HTTP status %d", a.status)
		if a.status >= http.StatusMultipleChoices && a.status < http.StatusBadRequest {
			e.Class, e.Message = hook.ClassUnavailable, e.Message+": redirections are never followed; name the address itself"
		}
		return nil, e
	}
	if f.Result != nil {
		if err := check(f.Result); err != nil {
			f.Result = nil // the error itself is reported
		}
	}
	if slices.Contains(hook.Classes(), f.Error.Class) {
		e.Class = f.Error.Class
	}
	e.Code, e.Message, e.Field = printable(f.Error.Code), printable(f.Error.Message), printable(f.Error.Field)
	if s := f.Error.RetryAfterSeconds; s > 0 {
		e.RetryAfter = time.Duration(min(s, int(maxRetryAfter.Seconds()))) * time.Second
	}
	return f.Result, e
}

// breaker stops requests to a program that keeps failing, for a while.
type breaker struct {
	mu       sync.Mutex
	failures int
	until    time.Time
}

const (
	breakerFailures = 5
	breakerTime     = 30 * time.Second
)

// open returns how long requests are still stopped.
func (b *breaker) open(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(b.until.Sub(now), 0)
}

func (b *breaker) count(now time.Time, failed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !failed {
		b.failures = 0
		return
	}
	if b.failures++; b.failures >= breakerFailures {
		b.failures, b.until = 0, now.Add(breakerTime)
	}
}
