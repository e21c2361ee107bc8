package inspect

import (
	"encoding/json"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/lbprovider/service"
)

var update = flag.Bool("update", false, "write what is said into testdata")

// read turns the objects of a test into what a cluster would give.
func read(t *testing.T, text string) *Objects {
	t.Helper()
	o := &Objects{Classes: service.DefaultClasses(), Reported: map[string][]Row{}, Unreachable: map[string]string{}}
	o.Config.ProviderNamespace = api.ProviderNamespace
	for doc := range strings.SplitSeq(text, "---\n") {
		var head struct {
			Kind string `json:"kind"`
			Node string `json:"node"`
		}
		into := func(v any) {
			t.Helper()
			if err := yaml.UnmarshalStrict([]byte(doc), v); err != nil {
				t.Fatalf("%v\n%s", err, doc)
			}
		}
		if err := yaml.Unmarshal([]byte(doc), &head); err != nil {
			t.Fatal(err)
		}
		switch head.Kind {
		case "Service":
			into(grow(&o.Services))
		case "EndpointSlice":
			into(grow(&o.Slices))
		case "Node":
			into(grow(&o.Nodes))
		case "Pod":
			into(grow(&o.Speakers))
		case "IPAddressPool":
			into(grow(&o.Config.Pools))
		case "L2Advertisement":
			into(grow(&o.Config.L2Advertisements))
		case "ServiceL2Status":
			into(grow(&o.L2))
		case "ServiceBGPStatus":
			into(grow(&o.BGP))
		case "BGPSessionState":
			into(grow(&o.Sessions))
		case "Said": // by a speaker
			var said struct {
				Kind, Node, Error string
				Rows              []Row
			}
			into(&said)
			if o.Reported[said.Node] = said.Rows; said.Error != "" {
				delete(o.Reported, said.Node)
				o.Unreachable[said.Node] = said.Error
			}
		default:
			t.Fatalf("kind %q", head.Kind)
		}
	}
	return o
}

func grow[T any](list *[]T) *T {
	var zero T
	*list = append(*list, zero)
	return &(*list)[len(*list)-1]
}

// TestView: a file has the objects, and what is said of them: as a table, about
// one address, and as JSON.
func TestView(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			o := read(t, string(a.Files[0].Data))
			fresh := &txtar.Archive{Comment: a.Comment, Files: a.Files[:1:1]}
			var table, detail strings.Builder
			view := &View{Answers: Look(o, netip.Addr{}), Now: now}
			if err := view.Text(&table); err != nil {
				t.Fatal(err)
			}
			table.WriteString(map[bool]string{true: "good\n", false: "not good\n"}[view.Good()])
			view.Detail = true
			if err := view.Text(&detail); err != nil {
				t.Fatal(err)
			}
			asJSON, err := json.MarshalIndent(view, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			fresh.Files = append(fresh.Files, txtar.File{Name: "table", Data: []byte(table.String())},
				txtar.File{Name: "detail", Data: []byte(detail.String())}, txtar.File{Name: "json", Data: append(asJSON, '\n')})
			if *update {
				if err := os.WriteFile(file, txtar.Format(fresh), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(string(txtar.Format(a)), string(txtar.Format(fresh))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestOneAddress: only the Services that have it are told of.
func TestOneAddress(t *testing.T) {
	t.Parallel()
	svc := func(name, ip string) corev1.Service {
		s := corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
		s.Name, s.Namespace = name, "d"
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: ip}}
		return s
	}
	o := &Objects{Classes: service.DefaultClasses(), Services: []corev1.Service{svc("a", "10.0.0.1"), svc("b", "10.0.0.2"), svc("c", "10.0.0.1")}}
	o.Slices, o.L2 = []discoveryv1.EndpointSlice{}, []v1beta1.ServiceL2Status{}
	var got []string
	for _, a := range Look(o, netip.MustParseAddr("10.0.0.1")) {
		got = append(got, a.Service)
	}
	if d := cmp.Diff([]string{"d/a", "d/c"}, got); d != "" {
		t.Error(d)
	}
}
