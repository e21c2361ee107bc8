package controller_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/test/cluster"
	"github.com/fairlead/fairlead/test/metallbapi"
)

// The objects of a cluster that has MetalLB, of all kinds.
const metalLBObjects = `
apiVersion: metallb.io/v1beta1
kind: IPAddressPool
metadata: {name: first-pool, namespace: metallb-system, labels: {zone: east}}
spec:
  addresses: [198.18.10.0/24, 198.18.9.1-198.18.9.5, "fd00:f853:ccd:e799::/124"]
---
apiVersion: metallb.io/v1beta1
kind: IPAddressPool
metadata: {name: expensive, namespace: metallb-system}
spec:
  addresses: [198.19.0.0/30]
  autoAssign: false
  avoidBuggyIPs: true
  serviceAllocation:
    priority: 50
    namespaces: [default]
    namespaceSelectors: [{matchLabels: {team: a}}]
    serviceSelectors: [{matchExpressions: [{key: app, operator: In, values: [bar]}]}]
---
apiVersion: metallb.io/v1beta1
kind: L2Advertisement
metadata: {name: example, namespace: metallb-system}
spec:
  ipAddressPools: [first-pool]
  nodeSelectors: [{matchLabels: {kubernetes.io/hostname: node-a}}, {matchLabels: {kubernetes.io/hostname: node-b}}]
  interfaces: [eth3]
---
apiVersion: metallb.io/v1beta1
kind: BGPAdvertisement
metadata: {name: local, namespace: metallb-system}
spec:
  ipAddressPoolSelectors: [{matchLabels: {zone: east}}]
  aggregationLength: 32
  localPref: 100
  communities: [65535:65282, no-advertise]
  peers: [sample]
---
apiVersion: metallb.io/v1beta1
kind: Community
metadata: {name: communities, namespace: metallb-system}
spec:
  communities: [{name: no-advertise, value: "65535:65283"}, {name: mine, value: "large:64512:100:1"}]
---
apiVersion: metallb.io/v1beta2
kind: BGPPeer
metadata: {name: sample, namespace: metallb-system}
spec: {myASN: 64500, peerASN: 64501, peerAddress: 198.18.0.1, bfdProfile: full, holdTime: 90s, routerID: 198.18.0.9}
---
apiVersion: metallb.io/v1beta2
kind: BGPPeer
metadata: {name: rack, namespace: metallb-system}
spec:
  myASN: 64500
  peerASN: 64501
  peerAddress: 198.18.0.2
  ebgpMultiHop: true
  nodeSelectors: [{matchExpressions: [{key: rack, operator: In, values: [one]}]}]
---
apiVersion: metallb.io/v1beta1
kind: BFDProfile
metadata: {name: full, namespace: metallb-system}
spec: {receiveInterval: 300, transmitInterval: 300, detectMultiplier: 3, passiveMode: true, minimumTtl: 254}
`

// metalLBPrograms are what runs, as far as the API server knows, and the
// webhook that refuses everything once it does not.
const metalLBPrograms = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: controller, namespace: metallb-system, labels: {app: metallb, component: controller}}
spec:
  selector: {matchLabels: {app: metallb, component: controller}}
  template:
    metadata: {labels: {app: metallb, component: controller}}
    spec: {containers: [{name: controller, image: "x:y"}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: speaker, namespace: metallb-system, labels: {app: metallb, component: speaker}}
spec:
  selector: {matchLabels: {app: metallb, component: speaker}}
  template:
    metadata: {labels: {app: metallb, component: speaker}}
    spec: {containers: [{name: speaker, image: "x:y"}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: metallb-webhook-configuration}
webhooks:
- name: ipaddresspoolvalidationwebhook.metallb.io
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  clientConfig: {service: {name: metallb-webhook-service, namespace: metallb-system}}
  rules: [{apiGroups: [metallb.io], apiVersions: [v1beta1], operations: [CREATE, UPDATE], resources: [ipaddresspools]}]
`

// TestMigration takes a cluster with MetalLB's definitions, objects and webhooks
// through the steps of docs/lb/migration.md.
func TestMigration(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: takes an API server")
	}
	server, err := cluster.StartAPIServer(t.Context(), t.TempDir())
	if err != nil {
		t.Skipf("no API server: %v", err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Log(err)
		}
	})
	kubectl := func(args ...string) {
		t.Helper()
		if _, err := server.Kubectl(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	apply := func(text string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "objects.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		kubectl("apply", "-f", file)
	}
	apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: metallb-system}\n---\n" + plainDefinitions(t))
	kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
	apply(metalLBObjects)
	apply(metalLBPrograms)
	e := &env{API: &metallbapi.API{T: t, Server: server}}
	e.REST, err = server.RESTConfig()
	e.Must(err)
	e.Client, err = client.New(e.REST, client.Options{Scheme: metallbapi.Scheme(t)})
	e.Must(err)
	for name, address := range map[string]string{"web": "198.18.9.3", "api": "198.18.10.77"} {
		e.service(name)
		e.update(name, func(s *corev1.Service) {
			s.Annotations = map[string]string{api.AnnotationAllocatedFromPool: "first-pool"}
		})
		svc := e.get(name)
		svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address}}
		e.Must(e.Status().Update(t.Context(), svc))
	}

	steps := commands(t)
	if len(steps) != 5 {
		t.Fatalf("the page has %d tested commands: %q", len(steps), steps)
	}
	for _, args := range steps {
		kubectl(args...)
	}
	kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
	e.start()
	t.Cleanup(func() { e.stop() })
	e.has("web", "198.18.9.3", api.ReasonIPAllocated)
	e.has("api", "198.18.10.77", api.ReasonIPAllocated)
	e.service("new")
	e.has("new", "198.18.10.0", api.ReasonIPAllocated)
	for kind, names := range map[string][]string{
		"v1beta1/IPAddressPool": {"first-pool", "expensive"}, "v1beta1/L2Advertisement": {"example"}, "v1beta1/BGPAdvertisement": {"local"},
		"v1beta1/Community": {"communities"}, "v1beta2/BGPPeer": {"sample", "rack"}, "v1beta1/BGPPeer": {"sample"}, "v1beta1/BFDProfile": {"full"},
	} {
		for _, name := range names {
			e.valid(kind, name)
		}
	}
}

// valid waits until the object has the condition Valid.
func (e *env) valid(kind, name string) {
	e.T.Helper()
	version, kind, _ := strings.Cut(kind, "/")
	e.Eventually(func() string {
		u := &unstructured.Unstructured{}
		u.SetAPIVersion("metallb.io/" + version)
		u.SetKind(kind)
		e.Must(e.Get(e.T.Context(), client.ObjectKey{Namespace: api.ProviderNamespace, Name: name}, u))
		raw, err := json.Marshal(u.Object["status"])
		e.Must(err)
		var status struct{ Conditions []metav1.Condition }
		e.Must(json.Unmarshal(raw, &status))
		if !meta.IsStatusConditionTrue(status.Conditions, api.ConditionValid) {
			return fmt.Sprintf("%s %s: conditions %+v", kind, name, status.Conditions)
		}
		return ""
	})
}

// commands returns the tested commands of the page, without "kubectl".
func commands(t *testing.T) (all [][]string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/lb/migration.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)<!-- tested -->\n```sh\n(.*?)```").FindAllSubmatch(page, -1) {
		for line := range strings.Lines(string(m[1])) {
			args := strings.Fields(line)
			if args[0] != "kubectl" {
				t.Fatalf("%q is no kubectl command", line)
			}
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "'", "")
				if args[i] == "config/default" {
					args[i] = "../../config/default"
				}
			}
			all = append(all, args[1:])
		}
	}
	return all
}

// plainDefinitions are definitions of MetalLB's kinds that check next to
// nothing, as they are before Fairlead's come: ours without rules, defaults
// and conditions, and with a webhook that converts BGPPeers.
func plainDefinitions(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("../../config/lbprovider/crd/metallb.io_*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for i := range crd.Spec.Versions {
			plain(crd.Spec.Versions[i].Schema.OpenAPIV3Schema)
		}
		if crd.Name == "bgppeers.metallb.io" {
			path := "/convert"
			crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
				Strategy: apiextensionsv1.WebhookConverter,
				Webhook: &apiextensionsv1.WebhookConversion{
					ConversionReviewVersions: []string{"v1beta1", "v1beta2"},
					ClientConfig: &apiextensionsv1.WebhookClientConfig{
						Service: &apiextensionsv1.ServiceReference{Namespace: "metallb-system", Name: "metallb-webhook-service", Path: &path},
					},
				},
			}
		}
		crd.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
		text, err = yaml.Marshal(crd)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString("---\n")
		out.Write(text)
	}
	return out.String()
}

func plain(s *apiextensionsv1.JSONSchemaProps) {
	s.XValidations, s.Default, s.XListType, s.XListMapKeys = nil, nil, nil, nil
	for name, p := range s.Properties {
		if name == "conditions" {
			delete(s.Properties, name)
			continue
		}
		plain(&p)
		s.Properties[name] = p
	}
	if s.Items != nil && s.Items.Schema != nil {
		plain(s.Items.Schema)
	}
}
