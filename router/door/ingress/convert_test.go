package ingress

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	routev1 "github.com/openshift/api/route/v1"
	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	issue "github.com/fairlead/fairlead/operator/certificate"
	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/test/build"
)

var update = flag.Bool("update", false, "write what Convert does into the test cases")

// TestConvert runs the cases of testdata. A case has in.yaml (an Ingress, and
// what it names; Routes are those that it owns already) and want. In Secrets
// and Routes, "@name" stands for a certificate for name and its key.
func TestConvert(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil || len(archive.Files) != 2 {
				t.Fatalf("%d files, %v", len(archive.Files), err)
			}
			known := newKnownPairs(t)
			got := known.describe(Convert(known.parse(t, archive.Files[0].Data)))
			if *update {
				archive.Files[1].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(archive.Files[1].Data), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// knownPairs are the certificates of a case by name.
type knownPairs struct {
	t     *testing.T
	ca    certificate.Pair
	pairs map[string]certificate.Pair
}

// issued is when the certificates of these tests were made.
var issued = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

func newKnownPairs(t *testing.T) *knownPairs {
	t.Helper()
	ca, err := issue.NewCA(issued)
	if err != nil {
		t.Fatal(err)
	}
	return &knownPairs{t: t, ca: ca, pairs: map[string]certificate.Pair{}}
}

func (k *knownPairs) get(name string) certificate.Pair {
	if _, ok := k.pairs[name]; !ok {
		p, err := issue.NewWildcard(k.ca, name, issued)
		if err != nil {
			k.t.Fatal(err)
		}
		k.pairs[name] = p
	}
	return k.pairs[name]
}

func (k *knownPairs) resolve(value string, key bool) string {
	name, ok := strings.CutPrefix(value, "@")
	switch {
	case !ok:
		return value
	case key:
		return string(k.get(name).Key)
	}
	return string(k.get(name).Certificate)
}

func (k *knownPairs) parse(t *testing.T, data []byte) Input {
	t.Helper()
	in := Input{Services: map[string]*corev1.Service{}, Secrets: map[string]*corev1.Secret{}, Routes: map[string]*routev1.Route{}}
	for document := range strings.SplitSeq(string(data), "---\n") {
		var head struct{ Kind string }
		if err := yaml.Unmarshal([]byte(document), &head); err != nil {
			t.Fatal(err)
		}
		parse := func(into any) {
			if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
				t.Fatal(err)
			}
		}
		switch head.Kind {
		case "Ingress":
			if in.Ingress != nil { // a second one is another Ingress of the namespace
				other := &networkingv1.Ingress{}
				parse(other)
				in.ClosedHosts = map[string]string{}
				for _, host := range ClosedHosts(other, Limits{}) {
					if !SameClients(other, in.Ingress, Limits{}) {
						in.ClosedHosts[host] = other.Name
					}
				}
				continue
			}
			in.Ingress = &networkingv1.Ingress{}
			parse(in.Ingress)
		case "IngressClass":
			in.Class = &networkingv1.IngressClass{}
			parse(in.Class)
		case "Service":
			s := &corev1.Service{}
			parse(s)
			in.Services[s.Name] = s
		case "Secret":
			s := &corev1.Secret{}
			parse(s)
			s.Data = map[string][]byte{}
			for key, value := range s.StringData {
				s.Data[key] = []byte(k.resolve(value, key == corev1.TLSPrivateKeyKey))
			}
			in.Secrets[s.Name] = s
		case "Route":
			r := &routev1.Route{}
			parse(r)
			if r.Spec.TLS != nil {
				r.Spec.TLS.Certificate, r.Spec.TLS.Key = k.resolve(r.Spec.TLS.Certificate, false), k.resolve(r.Spec.TLS.Key, true)
			}
			in.Routes[r.Name] = r
		default:
			t.Fatalf("kind %q", head.Kind)
		}
	}
	return in
}

// describe writes routes and findings as people would tell them.
func (k *knownPairs) describe(out Output) string {
	var b strings.Builder
	for _, r := range out.Routes {
		fmt.Fprintf(&b, "%s: %s%s -> %s", r.Name, r.Spec.Host, r.Spec.Path, r.Spec.To.Name)
		if r.Spec.Port != nil {
			fmt.Fprintf(&b, ":%s", r.Spec.Port.TargetPort.String())
		}
		fmt.Fprintf(&b, " weight=%d", *r.Spec.To.Weight)
		if r.Spec.WildcardPolicy != routev1.WildcardPolicyNone {
			fmt.Fprintf(&b, " wildcard=%s", r.Spec.WildcardPolicy)
		}
		b.WriteString(k.describeTLS(r.Spec.TLS) + "\n")
		for _, key := range slices.Sorted(maps.Keys(r.Annotations)) {
			fmt.Fprintf(&b, "    %s=%s\n", key, r.Annotations[key])
		}
	}
	if err := build.Undeclared(out.Findings); err != nil {
		k.t.Error(err)
	}
	for _, f := range out.Findings {
		fmt.Fprintf(&b, "%s %s %s\n", f.Severity, f.Reason, f.Text())
	}
	return b.String()
}

func (k *knownPairs) describeTLS(t *routev1.TLSConfig) string {
	if t == nil {
		return ""
	}
	s := fmt.Sprintf(" tls=%s/%s", t.Termination, t.InsecureEdgeTerminationPolicy)
	for name, p := range k.pairs {
		if t.Certificate == string(p.Certificate) {
			s += " certificate=@" + name
		}
		if t.Key != "" && t.Certificate == string(p.Certificate) && t.Key != string(p.Key) {
			s += " with the key of another"
		}
	}
	if t.ExternalCertificate != nil {
		s += " secret=" + t.ExternalCertificate.Name
	}
	for name, value := range map[string]string{"ca": t.CACertificate, "destinationCA": t.DestinationCACertificate} {
		if value != "" {
			s += fmt.Sprintf(" %s=%s", name, value)
		}
	}
	return s
}
