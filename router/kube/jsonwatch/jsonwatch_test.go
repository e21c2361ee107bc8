package jsonwatch_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	routev1 "github.com/openshift/api/route/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/fairlead/fairlead/router/kube/jsonwatch"
)

const routeJSON = `{"apiVersion":"route.openshift.io/v1","kind":"Route","metadata":{"name":"web","namespace":"shop","resourceVersion":"17",` +
	`"managedFields":[{"manager":"x"}]},"spec":{"host":"web.example.com","to":{"kind":"Service","name":"web","weight":100}},` +
	`"status":{"ingress":[{"conditions":[{"status":"True","type":"Admitted"}]}]}}`

func decodeRoute(d *jsontext.Decoder) (runtime.Object, error) {
	r := &routev1.Route{}
	return r, jsonv2.UnmarshalDecode(d, r)
}

// TestDecodeEvents: a watch tells what client-go's would.
func TestDecodeEvents(t *testing.T) {
	t.Parallel()
	text := `{"type":"ADDED","object":` + routeJSON + `}
{"type":"BOOKMARK","object":{"kind":"Route","metadata":{"resourceVersion":"12"}}}
{"type":"ERROR","object":{"kind":"Status","status":"Failure","reason":"Expired","code":410}}
{"type":"DELETED","object":` + routeJSON + `}
`
	want := &routev1.Route{}
	if err := json.Unmarshal([]byte(routeJSON), want); err != nil {
		t.Fatal(err)
	}
	want.ManagedFields = nil
	events := jsonwatch.NewEvents(io.NopCloser(strings.NewReader(text)), decodeRoute)
	for _, expected := range []watch.Event{
		{Type: watch.Added, Object: want},
		{Type: watch.Bookmark, Object: &routev1.Route{TypeMeta: metav1.TypeMeta{Kind: "Route"}, ObjectMeta: metav1.ObjectMeta{ResourceVersion: "12"}}},
		{Type: watch.Error, Object: &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status"}, Status: "Failure", Reason: "Expired", Code: 410}},
		{Type: watch.Deleted, Object: want},
	} {
		kind, object, err := events.Decode()
		if err != nil {
			t.Fatal(expected.Type, err)
		}
		if r, ok := object.(*routev1.Route); ok {
			r.ManagedFields = nil
		}
		if diff := cmp.Diff(expected, watch.Event{Type: kind, Object: object}); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	if _, _, err := events.Decode(); err != io.EOF { //nolint:errorlint // client-go compares it
		t.Errorf("the end: %v", err)
	}
}

// BenchmarkDecodeEvent decodes a change of a route that is as large as the API
// server takes.
func BenchmarkDecodeEvent(b *testing.B) {
	route := &routev1.Route{Spec: routev1.RouteSpec{TLS: &routev1.TLSConfig{DestinationCACertificate: strings.Repeat(strings.Repeat("A", 64)+"\n", 14_000)}}}
	route.APIVersion, route.Kind = "route.openshift.io/v1", "Route"
	object, err := json.Marshal(route)
	if err != nil {
		b.Fatal(err)
	}
	text := []byte(`{"type":"MODIFIED","object":` + string(object) + "}\n")
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	events := jsonwatch.NewEvents(io.NopCloser(&endless{text: text}), decodeRoute)
	for b.Loop() {
		if _, _, err := events.Decode(); err != nil {
			b.Fatal(err)
		}
	}
}

// endless is one text again and again.
type endless struct {
	text []byte
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	return n, nil
}

// FuzzDecodeEvents: whatever comes as a watch, decoding ends, and what is
// taken for an event has a type and an object.
func FuzzDecodeEvents(f *testing.F) {
	one := `{"type":"ADDED","object":` + routeJSON + `}`
	for _, text := range []string{
		one, one + one, one[:len(one)-1], `{"object":{},"type":"ADDED"}`, `{"type":"ERROR","object":{"code":410}}`, `{"type":"ADDED"}`, `{"type":"\n","object":{}}`,
		`{"type":"ADDED","object":null}`, `{"type":"ADDED","object":7}`, `{"type":7}`, `[]`, `null`, ``, `{}`, `{"type":"ADDED","object":{},"object":[]}`, `{"type":"ADDED","x":{}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		events := jsonwatch.NewEvents(io.NopCloser(bytes.NewReader(data)), decodeRoute)
		for range len(data) + 1 {
			kind, object, err := events.Decode()
			if err != nil {
				return
			}
			if kind == "" || object == nil {
				t.Fatalf("event of type %q with object %v", kind, object)
			}
		}
		t.Fatal("it does not end")
	})
}
