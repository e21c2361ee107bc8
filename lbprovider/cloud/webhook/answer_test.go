package webhook_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/lbprovider/cloud/webhook"
)

// answers is a program that answers every call alike.
func answers(t testing.TB, status int, header http.Header, body string) *webhook.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		maps.Copy(w.Header(), header)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body)) // no client that is gone matters
	}))
	t.Cleanup(server.Close)
	c, err := webhook.New(webhook.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func spec() *hook.Spec { return &hook.Spec{Ref: hook.Ref{UID: "uid"}} }

// TestPlainHTTP: only to this machine itself, with or without a token.
func TestPlainHTTP(t *testing.T) {
	token := func() (string, error) { return "x", nil }
	for url, fine := range map[string]bool{
		"http://127.0.0.1:8080": true, "http://[::1]:8080": true, "http://localhost:8080": true, "https://198.18.0.1": true, "unix:///run/hook.sock": true,
		"http://198.18.0.1:8080": false, "http://hook.example": false, "http://localhost.example": false, "http://127.0.0.1.example": false,
		"http://127.0.0.1@hook.example": false, "http://0.0.0.0": false, "ftp://127.0.0.1": false,
	} {
		for _, o := range []webhook.Options{{URL: url}, {URL: url, Token: token}} {
			if _, err := webhook.New(o); (err == nil) != fine {
				t.Errorf("%s, token %v: %v", url, o.Token != nil, err)
			}
		}
	}
}

// TestRedirect: a redirection is a failure that says so, and nobody is asked
// where it leads.
func TestRedirect(t *testing.T) {
	asked := 0
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		fmt.Fprint(w, `{"state": "Ready", "ingress": [{"hostname": "evil.example"}]}`)
	}))
	defer elsewhere.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		c := answers(t, status, http.Header{"Location": {elsewhere.URL}}, "")
		_, err := c.Ensure(t.Context(), spec())
		if hook.ClassOf(err) != hook.ClassUnavailable || !strings.Contains(err.Error(), "never followed") {
			t.Errorf("%d: %v", status, err)
		}
	}
	if asked > 0 {
		t.Errorf("%d calls where it leads", asked)
	}
}

// TestRetryAfter: what the answer asks for counts, by its body or its header.
func TestRetryAfter(t *testing.T) {
	for _, c := range []struct {
		header, body string
		want         time.Duration
	}{
		{"3", `{}`, 3 * time.Second},
		{"", `{}`, 5 * time.Second},
		{"40", `{"retryAfter": 7}`, 7 * time.Second},
		{"999999999999", `{}`, 5 * time.Second},
		{"86400", `{}`, 5 * time.Minute},
		{"-3", `{}`, 5 * time.Second},
		{"soon", `{}`, 5 * time.Second},
		{"", `{"retryAfter": 1e300}`, 5 * time.Minute},
	} {
		header := http.Header{}
		if c.header != "" {
			header.Set("Retry-After", c.header)
		}
		client := answers(t, http.StatusAccepted, header, c.body)
		r, err := client.Ensure(t.Context(), spec())
		if err != nil || r.State != hook.StatePending {
			t.Fatalf("%+v: %+v, %v", c, r, err)
		}
		d, err := client.Delete(t.Context(), &hook.Deletion{})
		if err != nil || d.Done {
			t.Fatalf("%+v: %+v, %v", c, d, err)
		}
		if c.header == "999999999999" {
			c.want = 5 * time.Minute
		}
		if r.RetryAfter.Std() != c.want || d.RetryAfter.Std() != c.want {
			t.Errorf("%+v: %s, %s", c, r.RetryAfter.Std(), d.RetryAfter.Std())
		}
	}
	date := http.Header{"Retry-After": {time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)}}
	r, err := answers(t, http.StatusAccepted, date, `{}`).Ensure(t.Context(), spec())
	if err != nil || r.RetryAfter.Std() < 50*time.Second || r.RetryAfter.Std() > time.Minute {
		t.Errorf("by a time: %+v, %v", r, err)
	}
}

// impossible are answers of ensure that nobody may believe.
func impossible() map[string]string {
	return map[string]string{
		"two names in one":    `{"state": "Ready", "ingress": [{"hostname": "a.example b.example"}]}`,
		"a new line":          `{"state": "Ready", "ingress": [{"hostname": "a.example\nb"}]}`,
		"an underscore":       `{"state": "Ready", "ingress": [{"hostname": "a_b.example"}]}`,
		"an empty label":      `{"state": "Ready", "ingress": [{"hostname": "a..example"}]}`,
		"a wildcard":          `{"state": "Ready", "ingress": [{"hostname": "*.example"}]}`,
		"a URL":               `{"state": "Ready", "ingress": [{"hostname": "https://a.example"}]}`,
		"an address as name":  `{"state": "Ready", "ingress": [{"hostname": "198.18.0.1"}]}`,
		"nothing":             `{"state": "Ready", "ingress": [{}]}`,
		"no address":          `{"state": "Ready", "ingress": [{"ip": "198.18.0.300"}]}`,
		"a zone":              `{"state": "Ready", "ingress": [{"ip": "fe80::1%eth0"}]}`,
		"this machine":        `{"state": "Ready", "ingress": [{"ip": "127.0.0.1"}]}`,
		"this machine by v6":  `{"state": "Ready", "ingress": [{"ip": "::ffff:127.0.0.1"}]}`,
		"metadata of AWS":     `{"state": "Ready", "ingress": [{"ip": "169.254.169.254"}]}`,
		"metadata of Alibaba": `{"state": "Ready", "ingress": [{"ip": "100.100.100.200"}]}`,
		"metadata of Oracle":  `{"state": "Ready", "ingress": [{"ip": "192.0.0.192"}]}`,
		"metadata of Google":  `{"state": "Ready", "ingress": [{"ip": "fd20:ce::254"}]}`,
		"metadata by NAT64":   `{"state": "Ready", "ingress": [{"ip": "64:ff9b::a9fe:a9fe"}]}`,
		"a group":             `{"state": "Ready", "ingress": [{"ip": "ff02::1"}]}`,
		"no state":            `{"state": "Great", "ingress": [{"hostname": "a.example"}]}`,
		"a reason with space": `{"state": "Pending", "reason": "not yet"}`,
		"a handle with NUL":   `{"state": "Ready", "handle": "a\u0000b"}`,
		"a problem's reason":  `{"state": "Ready", "problems": [{"reason": "a\tb", "message": "m"}]}`,
		"too many":            `{"state": "Ready", "ingress": [` + strings.TrimSuffix(strings.Repeat(`{"ip": "198.18.0.1"},`, 65), ",") + `]}`,
	}
}

// TestImpossibleAnswer: it is refused as a whole, and the message says what is wrong.
func TestImpossibleAnswer(t *testing.T) {
	for name, body := range impossible() {
		r, err := answers(t, http.StatusOK, nil, body).Ensure(t.Context(), spec())
		if err == nil || !strings.Contains(err.Error(), "the answer is refused: ") || strings.ContainsFunc(err.Error(), unicode.IsControl) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	for _, body := range []string{
		`{"state": "Ready", "ingress": [{"hostname": "lb-1.example.com"}, {"ip": "198.18.0.1"}, {"ip": "2001:db8::1"}], "handle": "lb/1", "hostedZone": "Z1"}`,
		`{"state": "Degraded", "reason": "Half", "message": "one\tof two"}`,
	} {
		if _, err := answers(t, http.StatusOK, nil, body).Ensure(t.Context(), spec()); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// FuzzAnswer: whatever a program answers, it ends nothing, and what is taken
// over can be published.
func FuzzAnswer(f *testing.F) {
	for _, body := range impossible() {
		f.Add(200, "", body)
	}
	f.Add(202, "3", `{"state": "Ready", "retryAfter": -1}`)
	f.Add(202, "Thu, 01 Jan 1970 00:00:00 GMT", `{}`)
	f.Add(302, "", "")
	f.Add(507, "999999999999999999999", `{"error": {"class": "Quota", "message": "a\r\n\u001b[2J\u000c", "retryAfterSeconds": 9223372036854775807}, "result": {"ingress": [{"ip": "::"}]}}`)
	f.Add(200, "", `{"refs": [{"namespace": "a\u0000"}], "problems": [{"field": "\t", "message": "\r"}], "versions": ["cloudhook/v1"], "targets": [{"state": "\n"}]}`)
	var status int
	var after, body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Retry-After"] = []string{after}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body)) // no client that is gone matters
	}))
	f.Cleanup(server.Close)
	c, err := webhook.New(webhook.Options{URL: server.URL}) // one: each keeps connections
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, code int, header, text string) {
		if code < 200 || code > 599 || strings.ContainsAny(header, "\r\n\x00") {
			t.Skip("no answer of HTTP")
		}
		status, after, body = code, header, text
		r, err := c.Ensure(t.Context(), spec())
		if err == nil && code >= 300 {
			t.Errorf("status %d is taken for a success", code)
		}
		if err != nil {
			e := hook.AsError(err)
			if strings.ContainsFunc(e.Message+e.Code+e.Field, unicode.IsControl) || e.RetryAfter < 0 || e.RetryAfter > 5*time.Minute {
				t.Errorf("error %q after %s", e.Message, e.RetryAfter)
			}
		}
		if r != nil {
			publishable(t, r)
		}
		_, _ = c.UpdateTargets(t.Context(), spec())
		_, _ = c.ListOwned(t.Context())
		_, _ = c.Delete(t.Context(), &hook.Deletion{})
		z, err := c.ResolveZone(t.Context(), hook.ZoneSelector{})
		if err == nil && strings.ContainsFunc(z.ID+z.Name, unicode.IsControl) {
			t.Errorf("zone %+v", z)
		}
		d, err := c.EnsureRecord(t.Context(), &hook.Record{}, hook.Zone{})
		if err == nil && strings.ContainsFunc(d.Message+d.Handle, unicode.IsControl) {
			t.Errorf("record %+v", d)
		}
	})
}

func publishable(t *testing.T, r *hook.Result) {
	t.Helper()
	for _, in := range r.Ingress {
		if a, err := netip.ParseAddr(in.IP); in.IP != "" && (err != nil || !webhook.Publishable(a)) {
			t.Errorf("address %q", in.IP)
		}
		if in.Hostname != "" && len(validation.IsDNS1123Subdomain(in.Hostname)) > 0 {
			t.Errorf("host name %q", in.Hostname)
		}
	}
	text := r.Message + r.Reason + r.Handle + r.HostedZone
	for _, p := range r.Problems {
		text += p.Reason + p.Field + p.Message
	}
	if strings.ContainsFunc(text, unicode.IsControl) || r.RetryAfter < 0 || r.RetryAfter.Std() > 5*time.Minute {
		t.Errorf("answer %+v", r)
	}
}
