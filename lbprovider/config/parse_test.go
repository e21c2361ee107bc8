package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/test/build"
)

const ns = "metallb-system"

// pool makes a pool; later calls of age make younger ones.
func pool(name string, age int, change func(*v1beta1.IPAddressPool), addresses ...string) v1beta1.IPAddressPool {
	p := v1beta1.IPAddressPool{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, CreationTimestamp: metav1.Time{Time: time.Unix(int64(1000+age), 0)}},
		Spec:       v1beta1.IPAddressPoolSpec{Addresses: addresses},
	}
	if change != nil {
		change(&p)
	}
	return p
}

func l2ad(name string, spec v1beta1.L2AdvertisementSpec) v1beta1.L2Advertisement {
	return v1beta1.L2Advertisement{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: spec}
}

func selector(key, value string) metav1.LabelSelector {
	return metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}

func badSelector() metav1.LabelSelector {
	return metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}}
}

// summary is "pool: ranges; advertisements" per pool, which is what most tests are about.
func summary(c *Config) []string {
	var out []string
	for _, p := range c.Pools {
		var ranges, ads []string
		for _, r := range p.Ranges {
			ranges = append(ranges, r.String())
		}
		for _, ad := range p.L2 {
			ads = append(ads, ad.Name)
		}
		out = append(out, p.Name+": "+strings.Join(ranges, " ")+"; "+strings.Join(ads, " "))
	}
	return out
}

func texts(findings []api.Finding) []string {
	var out []string
	for _, f := range findings {
		out = append(out, f.String())
	}
	return out
}

func TestParse(t *testing.T) {
	t.Parallel()
	const (
		rangeA = "198.18.0.1-198.18.0.9"
		rangeB = "198.18.1.1-198.18.1.9"
	)
	good := Resources{ProviderNamespace: ns, Pools: []v1beta1.IPAddressPool{pool("a", 1, nil, rangeA), pool("b", 2, nil, rangeB)}}
	for _, tt := range []struct {
		name string
		last *Resources
		res  Resources
		want []string
		// wantFindings are pieces of the findings, one each.
		wantFindings []string
	}{
		{name: "nothing"},
		{
			name: "pools are sorted and keep the order of their entries",
			res: Resources{ProviderNamespace: ns, Pools: []v1beta1.IPAddressPool{
				pool("b", 1, nil, rangeB, rangeA), pool("a", 2, nil, "198.18.2.0/31"),
			}},
			want: []string{"a: 198.18.2.0-198.18.2.1; ", "b: " + rangeB + " " + rangeA + "; "},
		},
		{
			name: "another namespace does not count",
			res: Resources{ProviderNamespace: ns, Pools: []v1beta1.IPAddressPool{
				pool("a", 1, func(p *v1beta1.IPAddressPool) { p.Namespace = "default" }, rangeA),
			}},
			wantFindings: []string{"IPAddressPool/default/a: WrongNamespace metadata.namespace: resource must be created in metallb-system namespace (it is not used)"},
		},
		{
			name: "advertisements attach by name, by label, and to all",
			res: Resources{
				ProviderNamespace: ns,
				Pools: []v1beta1.IPAddressPool{
					pool("a", 1, nil, rangeA),
					pool("b", 2, func(p *v1beta1.IPAddressPool) { p.Labels = map[string]string{"zone": "x"} }, rangeB),
				},
				L2Advertisements: []v1beta1.L2Advertisement{
					l2ad("everything", v1beta1.L2AdvertisementSpec{}),
					l2ad("by-name", v1beta1.L2AdvertisementSpec{IPAddressPools: []string{"a", "unknown"}}),
					l2ad("by-label", v1beta1.L2AdvertisementSpec{IPAddressPoolSelectors: []metav1.LabelSelector{selector("zone", "x")}}),
					l2ad("by-both", v1beta1.L2AdvertisementSpec{IPAddressPools: []string{"b"}, IPAddressPoolSelectors: []metav1.LabelSelector{selector("zone", "x")}}),
				},
			},
			want: []string{"a: " + rangeA + "; by-name everything", "b: " + rangeB + "; by-both by-label everything"},
		},
		{
			name: "of two pools that overlap the younger gives way",
			res: Resources{ProviderNamespace: ns, Pools: []v1beta1.IPAddressPool{
				pool("a", 2, nil, "198.18.0.9-198.18.0.12", rangeB), pool("b", 1, nil, rangeA),
			}},
			want:         []string{"a: " + rangeB + "; ", "b: " + rangeA + "; "},
			wantFindings: []string{`IPAddressPool/metallb-system/a: Overlap spec.addresses: 198.18.0.9-198.18.0.12 overlaps with IPAddressPool "b" (the entry is not used)`},
		},
		{
			name:         "a pool that overlaps itself",
			res:          Resources{ProviderNamespace: ns, Pools: []v1beta1.IPAddressPool{pool("a", 1, nil, rangeA, "198.18.0.0/30")}},
			want:         []string{"a: " + rangeA + "; "},
			wantFindings: []string{"overlaps with another entry of this pool"},
		},
		{
			name: "a bad entry harms only itself",
			res: Resources{ProviderNamespace: ns, Pools: []v1beta1.IPAddressPool{
				pool("a", 1, nil, rangeA, "nonsense"), pool("b", 2, nil, rangeB),
			}},
			want:         []string{"a: " + rangeA + "; ", "b: " + rangeB + "; "},
			wantFindings: []string{`a: InvalidAddresses spec.addresses[1]: "nonsense" is neither`},
		},
		{
			name:         "a pool without addresses is none",
			res:          Resources{ProviderNamespace: ns, Pools: []v1beta1.IPAddressPool{pool("a", 1, nil)}},
			wantFindings: []string{"the pool has no addresses"},
		},
		{
			name: "the last valid version stays in force",
			last: &good,
			res: Resources{ProviderNamespace: ns, Pools: []v1beta1.IPAddressPool{
				pool("a", 1, nil, "198.18.0.9-198.18.0.1"), pool("b", 2, nil, rangeB),
			}},
			want:         []string{"a: " + rangeA + "; ", "b: " + rangeB + "; "},
			wantFindings: []string{"is after the end IP \"198.18.0.1\" (its last valid version stays in force)"},
		},
		{
			name: "a pool that is deleted is gone, last version or not",
			last: &good,
			res:  Resources{ProviderNamespace: ns, Pools: []v1beta1.IPAddressPool{pool("b", 2, nil, rangeB)}},
			want: []string{"b: " + rangeB + "; "},
		},
		{
			name: "the last version cannot stay if its addresses went to another pool",
			last: &good,
			res: Resources{ProviderNamespace: ns, Pools: []v1beta1.IPAddressPool{
				pool("a", 2, nil, "nonsense"), pool("b", 1, nil, rangeA),
			}},
			want:         []string{"b: " + rangeA + "; "},
			wantFindings: []string{"a: InvalidAddresses"},
		},
		{
			name: "a bad selector never opens the pool to everybody",
			res: Resources{ProviderNamespace: ns, Pools: []v1beta1.IPAddressPool{
				pool("a", 1, func(p *v1beta1.IPAddressPool) {
					p.Spec.AllocateTo = &v1beta1.ServiceAllocation{NamespaceSelectors: []metav1.LabelSelector{badSelector()}}
				}, rangeA),
			}},
			wantFindings: []string{"a: InvalidSelector spec.serviceAllocation.namespaceSelectors[0]:"},
		},
		{
			name: "a bad advertisement is not used",
			res: Resources{
				ProviderNamespace: ns, Pools: []v1beta1.IPAddressPool{pool("a", 1, nil, rangeA)},
				L2Advertisements: []v1beta1.L2Advertisement{l2ad("bad", v1beta1.L2AdvertisementSpec{NodeSelectors: []metav1.LabelSelector{badSelector()}})},
			},
			want:         []string{"a: " + rangeA + "; "},
			wantFindings: []string{"L2Advertisement/metallb-system/bad: InvalidSelector spec.nodeSelectors[0]:"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var last *Config
			if tt.last != nil {
				last, _ = Parse(*tt.last, nil)
			}
			cfg, findings := Parse(tt.res, last)
			if diff := cmp.Diff(tt.want, summary(cfg)); diff != "" {
				t.Errorf("pools (-want +got):\n%s", diff)
			}
			if err := build.Undeclared(findings); err != nil {
				t.Error(err)
			}
			got := texts(findings)
			if len(got) != len(tt.wantFindings) {
				t.Fatalf("findings: %q, want %q", got, tt.wantFindings)
			}
			for i, want := range tt.wantFindings {
				if !strings.Contains(got[i], want) {
					t.Errorf("finding %q lacks %q", got[i], want)
				}
			}
		})
	}
}

func TestBadAdvertisementKeepsItsLastVersion(t *testing.T) {
	t.Parallel()
	res := Resources{
		ProviderNamespace: ns, Pools: []v1beta1.IPAddressPool{pool("a", 1, nil, "198.18.0.0/30")},
		L2Advertisements: []v1beta1.L2Advertisement{l2ad("x", v1beta1.L2AdvertisementSpec{Interfaces: []string{"eth0"}})},
	}
	first, _ := Parse(res, nil)
	res.L2Advertisements = []v1beta1.L2Advertisement{l2ad("x", v1beta1.L2AdvertisementSpec{ServiceSelectors: []metav1.LabelSelector{badSelector()}})}
	second, findings := Parse(res, first)
	third, _ := Parse(res, second)
	if len(findings) != 1 || findings[0].Effect != effectKept {
		t.Errorf("findings: %v", findings)
	}
	for _, cfg := range []*Config{second, third} {
		if l2 := cfg.Pools[0].L2; len(l2) != 1 || !cmp.Equal(l2[0].Interfaces, []string{"eth0"}) {
			t.Errorf("advertisements: %+v", l2)
		}
	}
}

func TestAccepts(t *testing.T) {
	t.Parallel()
	namespaces := []Namespace{{Name: "red-1", Labels: map[string]string{"team": "red"}}, {Name: "blue-1", Labels: map[string]string{"team": "blue"}}}
	for _, tt := range []struct {
		name      string
		to        *v1beta1.ServiceAllocation
		namespace string
		labels    labels.Set
		want      bool
	}{
		{name: "open to all", namespace: "any", want: true},
		{name: "only a priority", to: &v1beta1.ServiceAllocation{Priority: 1}, namespace: "any", want: true},
		{name: "namespace by name", to: &v1beta1.ServiceAllocation{Namespaces: []string{"n"}}, namespace: "n", want: true},
		{name: "other namespace", to: &v1beta1.ServiceAllocation{Namespaces: []string{"n"}}, namespace: "m"},
		{name: "namespace by label", to: &v1beta1.ServiceAllocation{NamespaceSelectors: []metav1.LabelSelector{selector("team", "red")}}, namespace: "red-1", want: true},
		{name: "namespace by other label", to: &v1beta1.ServiceAllocation{NamespaceSelectors: []metav1.LabelSelector{selector("team", "red")}}, namespace: "blue-1"},
		{name: "a selector that matches nothing does not open the pool", to: &v1beta1.ServiceAllocation{NamespaceSelectors: []metav1.LabelSelector{selector("team", "green")}}, namespace: "red-1"},
		{name: "service label", to: &v1beta1.ServiceAllocation{ServiceSelectors: []metav1.LabelSelector{selector("app", "x")}}, namespace: "any", labels: labels.Set{"app": "x"}, want: true},
		{name: "other service label", to: &v1beta1.ServiceAllocation{ServiceSelectors: []metav1.LabelSelector{selector("app", "x")}}, namespace: "any", labels: labels.Set{"app": "y"}},
		{
			name:      "namespace and label must both hold",
			to:        &v1beta1.ServiceAllocation{Namespaces: []string{"n"}, ServiceSelectors: []metav1.LabelSelector{selector("app", "x")}},
			namespace: "m", labels: labels.Set{"app": "x"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg, findings := Parse(Resources{
				ProviderNamespace: ns, Namespaces: namespaces,
				Pools: []v1beta1.IPAddressPool{pool("a", 1, func(p *v1beta1.IPAddressPool) { p.Spec.AllocateTo = tt.to }, "198.18.0.0/30")},
			}, nil)
			if len(findings) > 0 {
				t.Fatal(findings)
			}
			if got := cfg.Pools[0].Accepts(tt.namespace, tt.labels); got != tt.want {
				t.Errorf("accepts: %v, want %v", got, tt.want)
			}
		})
	}
}

// Annotations that change what an object means are read, and a value that means
// nothing is told.
func TestAnnotations(t *testing.T) {
	t.Parallel()
	with := func(annotations map[string]string) (*Config, []api.Finding) {
		ad := l2ad("ad", v1beta1.L2AdvertisementSpec{})
		ad.Annotations = annotations
		return Parse(Resources{
			ProviderNamespace: ns, L2Advertisements: []v1beta1.L2Advertisement{ad},
			Pools: []v1beta1.IPAddressPool{pool("p", 1, func(p *v1beta1.IPAddressPool) { p.Annotations = annotations }, "198.18.0.0/30")},
		}, nil)
	}
	cfg, findings := with(map[string]string{api.AnnotationDefaultPool: "true", api.AnnotationSharingScope: "namespace", api.AnnotationPreempt: "false"})
	if p := cfg.Pools[0]; !p.Default || !p.ShareWithinNamespace || !p.L2[0].Stay || len(findings) > 0 {
		t.Errorf("%+v, %v", p, findings)
	}
	cfg, findings = with(map[string]string{api.AnnotationDefaultPool: "yes", api.AnnotationSharingScope: "Namespace", api.AnnotationPreempt: "no"})
	if p := cfg.Pools[0]; p.Default || p.ShareWithinNamespace || p.L2[0].Stay || Invalid(findings) {
		t.Errorf("%+v, %v", p, findings)
	}
	want := []string{
		`Warning IPAddressPool/metallb-system/p: IgnoredField metadata.annotations[fairlead.dev/default-pool]: unknown value "yes"; use one of ["true" "false"]. It has no effect`,
		`Warning IPAddressPool/metallb-system/p: IgnoredField metadata.annotations[fairlead.dev/sharing-scope]: unknown value "Namespace"; use one of ["namespace" "cluster"]. It has no effect`,
		`Warning L2Advertisement/metallb-system/ad: IgnoredField metadata.annotations[fairlead.dev/preempt]: unknown value "no"; use one of ["true" "false"]. It has no effect`,
	}
	if diff := cmp.Diff(want, texts(findings)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}
