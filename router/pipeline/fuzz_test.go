package pipeline_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/doors"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/policy"
	"github.com/fairlead/fairlead/router/render"
)

// tenant is a cluster with one route, whose Service has one pod.
type tenant struct {
	route *routev1.Route
	pod   string
}

func (t tenant) All() []model.Object {
	return []model.Object{{Kind: route.Kind, Namespace: "ns", Name: "r"}}
}
func (t tenant) Object(model.Object) door.Version                  { return t.route }
func (t tenant) Service(model.Object) *backend.Service             { return &backend.Service{} }
func (t tenant) Secret(model.Object) (*corev1.Secret, error)       { return nil, nil }
func (t tenant) ConfigMap(model.Object) (*policy.ConfigMap, error) { return nil, nil }
func (t tenant) Slices(model.Object) []*backend.Slice {
	port := int32(8080)
	return []*backend.Slice{backend.NewSlice(&discoveryv1.EndpointSlice{
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"198.18.0.1"}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: t.pod}}},
		Ports:       []discoveryv1.EndpointPort{{Port: &port}},
	})}
}

var (
	backendLine = regexp.MustCompile(`^backend [A-Za-z0-9._:-]+ from [a-z0-9_.]+$`)
	serverLine  = regexp.MustCompile(`^  server [A-Za-z0-9._:~-]+ 198\.18\.0\.1:8080 weight \d+( [A-Za-z0-9._:~/,()-]+)*$`)
	mapKey      = regexp.MustCompile(`^[!-~]+$`)
	mapValue    = regexp.MustCompile(`^[ -~]*$`)
	listLine    = regexp.MustCompile(`^/d/certs/[A-Za-z0-9._~-]+\.pem( \[alpn h2,http/1\.1\])? [a-z0-9.*-]+$`)
	slotLine    = regexp.MustCompile(`^/d/(certs|slots)/[A-Za-z0-9._~-]+\.pem( \[ssl-min-ver TLSv1\.0 ssl-max-ver TLSv1\.0\]| \[verify (required|optional) ca-file /d/certs/[A-Za-z0-9._~-]+\.ca\])?( !?[a-z0-9.*-]+)+\n$`)
)

// FuzzTenant puts whatever text into each place of a Route that a tenant may
// write, and looks at all that HAProxy would get to read: every line is one of
// the few kinds that there are, and there are as many as are due.
func FuzzTenant(f *testing.F) {
	for i := range policy.Annotations() {
		f.Add(uint8(i), "5s", "X-A", "%[req.hdr(a),lower]", "/a", "", "web-1", "edge")
	}
	for i, s := range []string{"a;b", "a\nshow info", "max-age=1;includeSubDomains", "/x|y", "10.0.0.0/8 ::1", "é", "a b", "%FL%", "'"} {
		f.Add(uint8(i), s, s, s, "/"+s, s, s, "reencrypt")
	}
	for i, s := range []string{"max-age=1;\nincludeSubDomains", "\n", "a\nb", "a\tb", "a\rb", "a\x00b", "a\fb", "a\vb", "\x7f", "<<x"} {
		for which := range policy.Annotations() {
			f.Add(uint8(which), s, "X-A", "/"+s, "/"+s, s, s, []string{"", "edge", "reencrypt", "passthrough"}[(i+which)%4])
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, text, header, value, path, pem, pod, termination string) {
		annotations := policy.Annotations()
		r := &routev1.Route{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "r", UID: "u",
			Annotations: map[string]string{annotations[int(which)%len(annotations)].Key: text, api.AnnotationLimit: "true"},
		}}
		r.Spec.Host, r.Spec.Path, r.Spec.To.Name = "h.test", path, "web"
		set := routev1.RouteHTTPHeaderActionUnion{Type: routev1.Set, Set: &routev1.RouteSetHTTPHeader{Value: value}}
		r.Spec.HTTPHeaders = &routev1.RouteHTTPHeaders{Actions: routev1.RouteHTTPHeaderActions{
			Request: []routev1.RouteHTTPHeader{{Name: header, Action: set}}, Response: []routev1.RouteHTTPHeader{{Name: header, Action: set}},
		}}
		if termination != "" {
			r.Spec.TLS = &routev1.TLSConfig{Termination: routev1.TLSTerminationType(termination), DestinationCACertificate: pem}
			if termination == "edge" {
				r.Spec.TLS = &routev1.TLSConfig{Termination: "edge", Certificate: pem, Key: pem}
			}
		}
		p := pipeline.New(doors.All(), tenant{r, pod}, door.Settings{RouterName: "default", HTTP2: true}, &model.Certificate{ID: "default:default:1", PEM: "x"})
		p.Update(door.Changes{All: true})
		checkFiles(t, p.Want())
		if st := p.Status(model.Object{Kind: route.Kind, Namespace: "ns", Name: "r"}); !st.Admitted && st.Message == "" {
			t.Error("refused without a reason")
		}
	})
}

func checkFiles(t *testing.T, st *plan.State) {
	t.Helper()
	l, caps := render.Layout{Dir: "/d"}, plan.Capabilities{DynamicBackends: true, AutoSNI: true, Lua: true, MaxPayload: 1 << 20}
	lines := func(write func(*bytes.Buffer) error) []string {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		return strings.FieldsFunc(b.String(), func(r rune) bool { return r == '\n' })
	}
	due := len(st.Backends)
	for _, b := range st.Backends {
		due += len(b.Servers)
	}
	got := lines(func(b *bytes.Buffer) error { return render.Backends(b, st, l, caps) })
	if len(got) != due {
		t.Fatalf("%d lines of %d that are due: %q", len(got), due, got)
	}
	for _, line := range got {
		if !backendLine.MatchString(line) && !serverLine.MatchString(line) {
			t.Errorf("line %q", line)
		}
	}
	for _, line := range lines(func(b *bytes.Buffer) error { return render.CrtList(b, st, l) }) {
		if !listLine.MatchString(line) {
			t.Errorf("line %q of the list of certificates", line)
		}
	}
	lists, err := render.SlotLists(st, l, slotsOf(t, st))
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, list := range lists {
		for line := range strings.Lines(list) {
			shown++
			if !slotLine.MatchString(line) {
				t.Errorf("line %q of a port's list of certificates", line)
			}
		}
	}
	if shown != len(lists)+len(st.SlotLines) {
		t.Errorf("%d lines in %d lists, for %d certificates", shown, len(lists), len(st.SlotLines))
	}
	for e, v := range st.Entries {
		if !mapKey.MatchString(e.Key) || !mapValue.MatchString(v) {
			t.Errorf("map %s: %q %q", e.Map, e.Key, v)
		}
	}
	for _, texts := range []map[string]string{st.Certs, st.CAs} {
		for id, pem := range texts {
			if strings.Contains(pem, "\n\n") || strings.Contains(pem, "%FL%") {
				t.Errorf("text of %s: %q", id, pem)
			}
		}
	}
}

// slotsOf are those with lines, and one without: a process has 64 of each block, most of which
// are empty.
func slotsOf(t *testing.T, st *plan.State) []render.Slots {
	t.Helper()
	slots := map[int]struct{}{21063: {}}
	for line := range st.SlotLines {
		if of := line.Slot - 21000; of < 0 || of%1000 >= 64 || of >= 2000 {
			t.Errorf("slot %d shows certificates", line.Slot)
		}
		slots[line.Slot] = struct{}{}
	}
	var all []render.Slots
	for slot := range slots {
		all = append(all, render.Slots{First: slot, Count: 1})
	}
	return all
}

func (tenant) Policies(string) *policy.Set { return nil }

func (tenant) AllPolicies() []model.Object        { return nil }
func (tenant) Namespace(string) *policy.Namespace { return nil }
