package servicecache

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api/metallb/v1beta1"
)

func statusMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "provider", Name: name, ResourceVersion: "7", UID: "not read", Labels: map[string]string{
		v1beta1.LabelNode: "n1", v1beta1.LabelServiceNamespace: "ns", v1beta1.LabelServiceName: "a",
	}}
}

func l2Status(name string, change func(*v1beta1.ServiceL2Status)) *v1beta1.ServiceL2Status {
	since := metav1.NewTime(time.Unix(1700000000, 0))
	o := &v1beta1.ServiceL2Status{ObjectMeta: statusMeta(name), Status: v1beta1.MetalLBServiceL2Status{
		Node: "n1", ServiceNamespace: "ns", ServiceName: "a", Since: &since,
		Addresses: []string{"198.18.0.1"}, Interfaces: []v1beta1.InterfaceInfo{{Name: "eth0"}},
	}}
	if change != nil {
		change(o)
	}
	return o
}

func TestStatus(t *testing.T) {
	t.Parallel()
	s, a := newStatusRecords(), Name{Namespace: "ns", Name: "a"}
	as := func(o any) *Status {
		t.Helper()
		read, err := s.read(o)
		if err != nil {
			t.Fatal(err)
		}
		return read.(*Status)
	}
	want := &Status{Name: "1", Version: "7", Node: "n1", Service: a, ReportedNode: "n1"}
	if diff := cmp.Diff(want, as(l2Status("1", nil)), cmpopts.IgnoreUnexported(Status{})); diff != "" {
		t.Errorf("what is kept (-want +got):\n%s", diff)
	}
	empty := as(l2Status("1", func(o *v1beta1.ServiceL2Status) { o.Status = v1beta1.MetalLBServiceL2Status{} }))
	if empty.Mismatched || empty.ReportedNode != "" {
		t.Errorf("an object without a status is %+v", empty)
	}
	for _, tt := range []struct {
		name   string
		change func(*v1beta1.ServiceL2Status)
		spoilt bool
	}{
		{"another node", func(o *v1beta1.ServiceL2Status) { o.Status.Node = "n2" }, true},
		{"another Service", func(o *v1beta1.ServiceL2Status) { o.Status.ServiceName = "b" }, true},
		{"another namespace", func(o *v1beta1.ServiceL2Status) { o.Status.ServiceNamespace = "b" }, true},
		{"another address", func(o *v1beta1.ServiceL2Status) { o.Status.Addresses[0] = "198.18.0.2" }, false},
		{"two addresses", func(o *v1beta1.ServiceL2Status) { o.Status.Addresses = []string{"198.18.0.1", "198.18.0.2"} }, false},
		{"no interface", func(o *v1beta1.ServiceL2Status) { o.Status.Interfaces = nil }, false},
		{"an address as interface", func(o *v1beta1.ServiceL2Status) {
			o.Status.Addresses, o.Status.Interfaces = nil, []v1beta1.InterfaceInfo{{Name: "198.18.0.1"}, {Name: "eth0"}}
		}, false},
		{"a second later", func(o *v1beta1.ServiceL2Status) { *o.Status.Since = metav1.NewTime(o.Status.Since.Add(time.Second)) }, false},
		{"no date", func(o *v1beta1.ServiceL2Status) { o.Status.Since = nil }, false},
	} {
		got := as(l2Status("1", tt.change))
		if got.Mismatched != tt.spoilt {
			t.Errorf("%s: spoilt is %v", tt.name, got.Mismatched)
		}
		if s.hash(l2Status("1", nil)) == got.hash {
			t.Errorf("%s is not noticed", tt.name)
		}
	}
	other := l2Status("2", func(o *v1beta1.ServiceL2Status) { o.Labels, o.ResourceVersion = nil, "8" })
	if as(l2Status("1", nil)).hash != s.hash(other) {
		t.Error("two objects with the same status differ")
	}
	if _, err := s.read(&metav1.Status{}); err == nil {
		t.Error("that is no status object")
	}
}

func TestStatusesAboutAService(t *testing.T) {
	t.Parallel()
	h, kept := &recordingCache{}, newStatusRecords()
	all := &Statuses{records: kept}
	objects := h.store(kept)
	about := func(service string) []string {
		var names []string
		for _, o := range all.ForService(Name{Namespace: "ns", Name: service}) {
			names = append(names, o.Name)
		}
		return names
	}
	bgpStatus := func(name, of string, peers ...string) *v1beta1.ServiceBGPStatus {
		o := &v1beta1.ServiceBGPStatus{ObjectMeta: statusMeta(name), Status: v1beta1.MetalLBServiceBGPStatus{Peers: peers}}
		o.Labels[v1beta1.LabelServiceName] = of
		return o
	}
	for _, step := range []struct {
		name string
		do   func(any) error
		with client.Object
		told []string
		a, b []string
	}{
		{"one", objects.Add, bgpStatus("1", "a", "tor1"), []string{"ns/a"}, []string{"1"}, nil},
		{"a second one", objects.Add, bgpStatus("2", "a", "tor1"), []string{"ns/a"}, []string{"1", "2"}, nil},
		{"new labels", objects.Update, bgpStatus("1", "b", "tor1"), []string{"ns/a", "ns/b"}, []string{"2"}, []string{"1"}},
		{"one goes", objects.Delete, bgpStatus("2", "a"), []string{"ns/a"}, nil, []string{"1"}},
	} {
		before := all.ForService(Name{Namespace: "ns", Name: "a"})
		seen := slices.Clone(before)
		if err := step.do(step.with); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.told, h.takeChanged()); diff != "" {
			t.Errorf("%s: told (-want +got):\n%s", step.name, diff)
		}
		if !slices.Equal(about("a"), step.a) || !slices.Equal(about("b"), step.b) {
			t.Errorf("%s: about a %v, about b %v, want %v and %v", step.name, about("a"), about("b"), step.a, step.b)
		}
		if !slices.Equal(before, seen) {
			t.Errorf("%s: a list that somebody has was changed", step.name)
		}
	}
	if left := all.All(); len(left) != 1 || !all.Matches(left[0], bgpStatus("9", "c", "tor1")) || all.Matches(left[0], bgpStatus("1", "b", "tor1", "tor2")) {
		t.Errorf("all: %v", left)
	}
	if err := objects.Replace([]any{bgpStatus("3", "a")}, "1"); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(about("a"), []string{"3"}) || len(about("b")) > 0 || len(all.All()) != 1 {
		t.Errorf("after a list: about a %v, about b %v", about("a"), about("b"))
	}
}
