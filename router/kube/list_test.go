package kube

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// routeJSON is a route as the API server writes it.
const routeJSON = `{"apiVersion":"route.openshift.io/v1","kind":"Route","metadata":{"annotations":{"a":"b"},"creationTimestamp":"2026-01-02T03:04:05Z","generation":1,` +
	`"managedFields":[{"apiVersion":"route.openshift.io/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{".":{},"f:host":{},"f:to":{".":{},"f:kind":{},"f:name":{}}}},"manager":"x","operation":"Update","time":"2026-01-02T03:04:05Z"}],` +
	`"name":"web","namespace":"shop","resourceVersion":"17","uid":"0f8f6f3a-2f4e-4a0a-8f0a-000000000001"},` +
	`"spec":{"host":"web.example.com","port":{"targetPort":8080},"to":{"kind":"Service","name":"web","weight":100},"wildcardPolicy":"None"},` +
	`"status":{"ingress":[{"conditions":[{"lastTransitionTime":"2026-01-02T03:04:06Z","status":"True","type":"Admitted"}],"host":"web.example.com","routerName":"default","wildcardPolicy":"None"}]}}`

func decoded(text string) ([]*routev1.Route, metav1.ListMeta, error) {
	var all []*routev1.Route
	meta, err := decodeRoutes(strings.NewReader(text), func(r *routev1.Route) error {
		all = append(all, r)
		return nil
	})
	return all, meta, err
}

func TestDecodeRoutes(t *testing.T) {
	t.Parallel()
	one := `{"kind":"RouteList","metadata":{"resourceVersion":"9"},"items":[` + routeJSON + `]}`
	for name, test := range map[string]struct {
		text  string
		count int
		fails string
	}{
		"one":                      {one, 1, ""},
		"two, and metadata last":   {`{"items":[` + routeJSON + `,` + routeJSON + `],"more":{"a":[1]},"metadata":{"resourceVersion":"9"}}`, 2, ""},
		"none":                     {`{"metadata":{"resourceVersion":"9"},"items":[]}`, 0, ""},
		"null":                     {`{"metadata":{"resourceVersion":"9"},"items":null}`, 0, ""},
		"another answer":           {`{"kind":"Status","metadata":{},"code":200}`, 0, "not a list"},
		"no object":                {`[]`, 0, "instead of {"},
		"a route that is not one":  {`{"metadata":{"resourceVersion":"9"},"items":[7]}`, 0, "unmarshal JSON number"},
		"items that are not items": {`{"metadata":{"resourceVersion":"9"},"items":7}`, 0, "items begin with 7"},
	} {
		all, meta, err := decoded(test.text)
		if test.fails != "" {
			if err == nil || !strings.Contains(err.Error(), test.fails) {
				t.Errorf("%s: error %v, want %q", name, err, test.fails)
			}
			continue
		}
		if err != nil || len(all) != test.count || meta.ResourceVersion != "9" {
			t.Errorf("%s: %d routes, version %q, %v", name, len(all), meta.ResourceVersion, err)
		}
	}
	for end := range len(one) {
		if _, _, err := decoded(one[:end]); err == nil {
			t.Fatalf("a list that ends after %d bytes was taken", end)
		}
	}
}

// TestListedRouteIsTheRoute: what comes in a list and what comes as an event is
// the same in the end.
func TestListedRouteIsTheRoute(t *testing.T) {
	t.Parallel()
	all, _, err := decoded(`{"metadata":{"resourceVersion":"9"},"items":[` + routeJSON + `]}`)
	if err != nil {
		t.Fatal(err)
	}
	event := &routev1.Route{}
	if err := json.Unmarshal([]byte(routeJSON), event); err != nil {
		t.Fatal(err)
	}
	event.Generation = 0 // nobody reads it
	stripRoute(event)
	stripRoute(all[0])
	if diff := cmp.Diff(event, all[0]); diff != "" {
		t.Errorf("-event +listed:\n%s", diff)
	}
	if got := all[0]; cap(got.Status.Ingress) != 1 || cap(got.Status.Ingress[0].Conditions) != 1 {
		t.Error("the status has room for more")
	}
}

// TestRouteAllocations: a start decodes every route, so what one costs counts.
func TestRouteAllocations(t *testing.T) {
	const routes = 200
	text := []byte(`{"metadata":{"resourceVersion":"9"},"items":[` + strings.Repeat(routeJSON+",", routes-1) + routeJSON + `]}`)
	allocations := testing.AllocsPerRun(5, func() {
		if _, err := decodeRoutes(bytes.NewReader(text), func(r *routev1.Route) error { stripRoute(r); return nil }); err != nil {
			t.Fatal(err)
		}
	}) / routes
	const most = 60
	if allocations > most {
		t.Errorf("%.1f allocations for each route, at most %d are expected", allocations, most)
	}
	t.Logf("%.1f allocations for each route", allocations)
}

// protobufList writes a list as the API server does.
func protobufList(t testing.TB, list *corev1.ServiceList) []byte {
	t.Helper()
	raw, err := list.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	text, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "ServiceList"}, Raw: raw, ContentType: "x"}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte("k8s\x00"), text...)
}

func TestDecodeList(t *testing.T) {
	t.Parallel()
	read := func(text []byte) ([]string, metav1.ListMeta, error) {
		var names []string
		meta, err := decodeList(bytes.NewReader(text), func(b []byte) error {
			var s corev1.Service
			err := s.Unmarshal(b)
			names = append(names, s.Name)
			return err
		})
		return names, meta, err
	}
	for _, count := range []int{0, 1, 300} {
		list := &corev1.ServiceList{ListMeta: metav1.ListMeta{ResourceVersion: "9"}}
		var want []string
		for i := range count {
			want = append(want, fmt.Sprintf("s%d", i)+strings.Repeat("x", i))
			list.Items = append(list.Items, corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: want[i]}})
		}
		names, meta, err := read(protobufList(t, list))
		if err != nil || !slices.Equal(names, want) || meta.ResourceVersion != "9" {
			t.Errorf("%d objects: %d, version %q, %v", count, len(names), meta.ResourceVersion, err)
		}
	}
	if _, _, err := read([]byte(`{"kind":"ServiceList"}`)); err == nil {
		t.Error("JSON was taken for protobuf")
	}
	text := protobufList(t, &corev1.ServiceList{
		ListMeta: metav1.ListMeta{ResourceVersion: "9"},
		Items:    []corev1.Service{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}},
	})
	const behind = 3 // the content type, of which nothing is read
	for end := range len(text) - behind - 2 {
		if _, _, err := read(text[:end]); err == nil {
			t.Fatalf("a list that ends after %d of %d bytes was taken", end, len(text))
		}
	}
}

// requests counts what a client asks for.
type requests struct {
	http.RoundTripper

	mu   sync.Mutex
	seen []string
}

// RoundTrip implements http.RoundTripper.
func (r *requests) RoundTrip(q *http.Request) (*http.Response, error) {
	kind := "list"
	if q.URL.Query().Get("watch") != "" {
		kind = "watch"
	}
	r.mu.Lock()
	r.seen = append(r.seen, kind+" "+q.URL.Path)
	r.mu.Unlock()
	return r.RoundTripper.RoundTrip(q)
}

// testStart: a start asks for each kind once, and for nothing else.
func (e *env) testStart(t *testing.T) {
	e.namespace(t, "start", nil)
	e.route(t, "start", "web", nil)
	var counted *requests
	config := rest.CopyConfig(e.config)
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		counted = &requests{RoundTripper: rt}
		return counted
	})
	w, _ := e.watcher(t, Options{Config: config})
	if len(w.All()) == 0 {
		t.Error("there is no route")
	}
	const routes, services, slicesPath = "/apis/route.openshift.io/v1/routes", "/api/v1/services", "/apis/discovery.k8s.io/v1/endpointslices"
	asked := func(kind string) []string {
		counted.mu.Lock()
		defer counted.mu.Unlock()
		var paths []string
		for _, request := range counted.seen {
			// Policies and the Gateway API are not installed here, and asked for again and again.
			if path, ok := strings.CutPrefix(request, kind+" "); ok && !strings.HasPrefix(path, "/apis/fairlead.dev/") && !strings.HasPrefix(path, "/apis/gateway.networking.k8s.io/") {
				paths = append(paths, path)
			}
		}
		slices.Sort(paths)
		return paths
	}
	want := []string{services, slicesPath, routes}
	if diff := cmp.Diff(want, asked("list")); diff != "" {
		t.Errorf("lists (-want +got):\n%s", diff)
	}
	// A watch may be asked for again, whenever the API server ends it. Those of namespaces
	// and nodes begin with what there is.
	want = append([]string{"/api/v1/namespaces", "/api/v1/nodes"}, want...)
	eventually(t, "the watches", func() bool { return slices.Equal(want, slices.Compact(asked("watch"))) })
}
