package feed

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/router/observe"
	"github.com/fairlead/fairlead/router/render"
)

// failed is a record of a request that no pod took, with an ID.
func failed(id, path string) []byte {
	return []byte("h|1796000000123456|be_http:web:cart:1a2b3c4d|<NOSRV>|503|SC--|0|0/0/0/0/-1/-1/-1/1|9|9|203.0.113.9|" + url.PathEscape(id) + "|GET|1|-||h|1|" + path + "|-|-|-")
}

func quiet() *Feed { return New(&fake{}, slog.New(slog.DiscardHandler), prometheus.NewRegistry()) }

// TestKeptBounds: so many requests of a second are kept, for so long, and not more of them than there is room for.
func TestKeptBounds(t *testing.T) {
	t.Parallel()
	f := quiet()
	f.Keep(true)
	now := time.Now()
	writes := func(at time.Time) bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return slices.Contains(f.keptKeys(at), render.KeptKey)
	}
	for i := range keptPerSecond + 5 {
		f.take(failed(fmt.Sprint("first-", i), "%2F"), now)
	}
	if k := f.lookUp("first-499", now); len(k.Found) != 1 || k.Requests != keptPerSecond || k.LeftOut != 5 || !k.Since.Equal(now) || k.Schema != observe.SchemaKept || !k.On {
		t.Errorf("%+v", k)
	}
	if k := f.lookUp("first-500", now); len(k.Found) != 0 {
		t.Errorf("%+v", k)
	}
	if writes(now.Add(keptPause-time.Millisecond)) || !writes(now.Add(keptPause)) {
		t.Error("HAProxy is to write nothing for a while, and then again")
	}
	for second := range 2 * KeptRequests / keptPerSecond {
		now = now.Add(time.Second)
		for i := range keptPerSecond {
			f.take(failed(fmt.Sprint("more-", second, "-", i), "%2F"), now)
		}
	}
	k := f.lookUp("more-0-0", now)
	if len(k.Found) != 0 || k.Requests != KeptRequests || !k.Since.Before(now) {
		t.Errorf("%+v", k)
	}
	for second := range 20 {
		now = now.Add(time.Second)
		for i := range keptPerSecond {
			f.take(failed(fmt.Sprint("long-", second, "-", i), "%2F"+strings.Repeat("a", 1000)), now)
		}
	}
	if f.kept.bytes > KeptBytes || f.kept.bytes < KeptBytes/2 || len(f.kept.requests) >= KeptRequests {
		t.Errorf("%d bytes of %d requests", f.kept.bytes, len(f.kept.requests))
	}
	bytes := 0
	for i := range f.kept.requests {
		bytes += f.kept.requests[i].bytes()
	}
	if bytes != f.kept.bytes {
		t.Errorf("%d bytes are counted as %d", bytes, f.kept.bytes)
	}
	if k := f.lookUp("long-19-499", now.Add(observe.KeptFor)); len(k.Found) != 1 {
		t.Errorf("%+v", k)
	}
	if k := f.lookUp("long-19-499", now.Add(observe.KeptFor+time.Second)); len(k.Found) != 0 || k.Requests != 0 || f.kept.bytes != 0 {
		t.Errorf("%+v, %d bytes", k, f.kept.bytes)
	}
}

// TestKeptAnswers: what did not fail is not kept, an ID that clients send again has its newest requests, a trace is an ID, too,
// and all is forgotten when keeping ends.
func TestKeptAnswers(t *testing.T) {
	t.Parallel()
	f := quiet()
	now := time.Now()
	f.take(failed("early", "%2F"), now)
	f.Keep(true)
	good := strings.Replace(string(failed("good", "%2F")), "|503|", "|200|", 1)
	pods := strings.Replace(strings.Replace(string(failed("pods", "%2F")), "|503|", "|404|", 1), "<NOSRV>", "pod:a:s:http:198.18.0.7:8080", 1)
	for _, line := range []string{good, pods, string(failed("", "%2F")), "h|a|b", "5 events dropped"} {
		f.take([]byte(line), now)
	}
	for _, id := range []string{"early", "good", "pods", "-"} {
		if k := f.lookUp(id, now); len(k.Found) != 0 || k.Requests != 0 {
			t.Errorf("%s: %+v", id, k)
		}
	}
	for i := range observe.KeptAnswers + 3 {
		f.take(failed("again", fmt.Sprint("%2F", i)), now)
	}
	if k := f.lookUp("again", now); len(k.Found) != observe.KeptAnswers || k.Found[0].Path != "/12" {
		t.Errorf("%+v", k)
	}
	const trace = "0af7651916cd43dd8448eb211c80319c"
	f.take([]byte(strings.TrimSuffix(string(failed("traced", "%2F")), "|-|-|-")+"|00-"+trace+"-b7ad6b7169203331-00|-|-"), now)
	if k := f.lookUp(trace, now); len(k.Found) != 1 || k.Found[0].ID != "traced" {
		t.Errorf("%+v", k)
	}
	if k := f.lookUp("", now); len(k.Found) != 0 {
		t.Errorf("%+v", k)
	}
	f.Keep(false)
	if k := f.lookUp(trace, now); k.On || len(k.Found) != 0 || f.kept.bytes != 0 {
		t.Errorf("%+v", k)
	}
}

// TestKeptServed: an ID of any bytes is found by its path; no ID, and one that is too long, is refused.
func TestKeptServed(t *testing.T) {
	t.Parallel()
	f := quiet()
	f.Keep(true)
	const odd = "a/../b//c?%|\"é 1"
	f.take(failed(odd, "%2F"), time.Now())
	mux := http.NewServeMux()
	mux.Handle(observe.KeptPath, f)
	get := func(method, id string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(method, observe.KeptPath+url.PathEscape(id), http.NoBody))
		return w
	}
	var k observe.Kept
	if w := get(http.MethodGet, odd); w.Code != http.StatusOK || json.Unmarshal(w.Body.Bytes(), &k) != nil || len(k.Found) != 1 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, c := range []struct {
		method, id string
		want       int
	}{{http.MethodPost, "a", http.StatusMethodNotAllowed}, {http.MethodGet, "", http.StatusBadRequest}, {http.MethodGet, strings.Repeat("a", render.IDBytes+1), http.StatusBadRequest}} {
		if w := get(c.method, c.id); w.Code != c.want {
			t.Errorf("%s of %d bytes: %d, want %d", c.method, len(c.id), w.Code, c.want)
		}
	}
}

// BenchmarkLookUp is the time for one ID among as many requests as are kept.
func BenchmarkLookUp(b *testing.B) {
	f := quiet()
	f.Keep(true)
	now := time.Now()
	for i := range KeptRequests {
		f.take(failed(fmt.Sprint(i), "%2F"), now.Add(time.Duration(i)*time.Second/keptPerSecond))
	}
	for b.Loop() {
		f.lookUp("none", now)
	}
}
