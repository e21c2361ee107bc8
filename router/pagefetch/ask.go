package pagefetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

const (
	maxHeaders = 16 << 10
	userAgent  = "fairlead-pages/1"
)

// ask asks an endpoint for the page of a status, over a connection of its own. The headers
// are those of ingress-nginx, as far as they do not speak of a request.
func ask(ctx context.Context, at netip.AddrPort, fetch *model.PageFetch, code int) (model.PageUse, error) {
	t := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", at.String())
		},
		DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeaders,
	}
	defer t.CloseIdleConnections()
	r := (&http.Request{
		Method: http.MethodGet, URL: &url.URL{Scheme: "http", Host: at.String(), Path: "/"}, Host: fetch.Host,
		Header: http.Header{
			"User-Agent": {userAgent}, "Accept": {"text/html"}, "X-Code": {strconv.Itoa(code)}, "X-Format": {"text/html"},
			"X-Namespace": {fetch.Key.Namespace},
		},
	}).WithContext(ctx)
	answer, err := t.RoundTrip(r) // which follows no redirect
	if err != nil {
		return model.PageUse{}, reason(err)
	}
	defer answer.Body.Close()
	// Most servers answer with the status that they are asked for; some with 200. Another
	// error is their own.
	if answer.StatusCode != code && answer.StatusCode/100 != 2 {
		return model.PageUse{}, fmt.Errorf("it answered with status %d", answer.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, model.MaxPage+1))
	if err != nil {
		return model.PageUse{}, reason(err)
	}
	return policy.NewPageUse(text, answer.Header.Get("Content-Type")) //nolint:wrapcheck // it says what, for the owner of the route
}

// reason is what the owner of a route is told: no addresses, which change.
func reason(err error) error {
	var network net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout() {
		return fmt.Errorf("it did not answer within %v", limit)
	}
	return errors.New("it cannot be reached, or its answer is no HTTP")
}
