package collect

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/check"
)

// TestAsk: an answer is an answer, whatever its status and certificate; else the reason is
// short.
func TestAsk(t *testing.T) {
	t.Parallel()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "www.example.com" {
			t.Errorf("host %s", r.Host)
		}
		http.Redirect(w, r, "https://elsewhere.example.com/", http.StatusFound)
	})
	open, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	t.Cleanup(open.Close)
	t.Cleanup(secure.Close)
	gone := httptest.NewServer(handler)
	gone.Close()
	address := func(s *httptest.Server) string { return s.Listener.Addr().String() }
	for name, tt := range map[string]struct {
		scheme, address string
		status          int
		error           string
	}{
		"plain":            {"http", address(open), 302, ""},
		"TLS":              {"https", address(secure), 302, ""},
		"closed":           {"http", address(gone), 0, "connection refused"},
		"TLS to plain":     {"https", address(open), 0, "HTTP response to HTTPS client"},
		"no such address":  {"http", "256.0.0.1:80", 0, "lookup"},
		"an odd host name": {"http", address(open), 0, "invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			target := check.Target{Scheme: tt.scheme, Address: tt.address, Host: "www.example.com"}
			if tt.error == "invalid" {
				target.Host = "a b\n"
			}
			p := ask(t.Context(), target, time.Now)
			if p.Status != tt.status || !strings.Contains(p.Error, tt.error) || (p.Error == "") != (tt.error == "") {
				t.Errorf("%+v", p)
			}
		})
	}
}

// TestPages: a list comes in pages, and from the start if it expires; what was read of one
// page is not changed by the next.
func TestPages(t *testing.T) {
	t.Parallel()
	expired := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
		if from == 4 && !expired {
			expired = true
			w.WriteHeader(http.StatusGone)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`)
			return
		}
		list := routev1.RouteList{TypeMeta: metav1.TypeMeta{APIVersion: "route.openshift.io/v1", Kind: "RouteList"}}
		for i := from; i < from+2; i++ {
			list.Items = append(list.Items, routev1.Route{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("r", i), Labels: map[string]string{fmt.Sprint("l", i): ""}}})
		}
		if from < 6 {
			list.Continue = strconv.Itoa(from + 2)
		}
		if err := json.NewEncoder(w).Encode(list); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	scheme := runtime.NewScheme()
	if err := routev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(&rest.Config{Host: server.URL}, client.Options{Scheme: scheme, Mapper: mapper()})
	if err != nil {
		t.Fatal(err)
	}
	got, err := pages(t.Context(), c, kind[*routev1.RouteList, routev1.Route]{
		empty: func() *routev1.RouteList { return &routev1.RouteList{} }, items: func(l *routev1.RouteList) []routev1.Route { return l.Items },
	})
	if err != nil || len(got) != 8 || !expired {
		t.Fatalf("%d routes, %v", len(got), err)
	}
	for i := range got {
		if _, own := got[i].Labels[fmt.Sprint("l", i)]; !own || len(got[i].Labels) != 1 || got[i].Name != fmt.Sprint("r", i) {
			t.Errorf("%d is %s with %v", i, got[i].Name, got[i].Labels)
		}
	}
}

// TestServerClock: the time is that of the server's last answer.
func TestServerClock(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", "Sun, 22 Nov 2026 12:00:00 GMT")
	}))
	t.Cleanup(server.Close)
	clock := &serverClock{}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := clock.wrap(http.DefaultTransport).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if got := clock.time(); !got.Equal(time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)) {
		t.Error(got)
	}
}
