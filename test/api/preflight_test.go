package api

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/fairlead/fairlead/check"
	"github.com/fairlead/fairlead/check/collect"
	"github.com/fairlead/fairlead/check/preflight"
	"github.com/fairlead/fairlead/test/cluster"
)

// foreignKinds are a pool kind with a field that Fairlead's has not, a webhook whose
// pods are gone, and a Gateway API that is too old.
const foreignKinds = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ipaddresspools.metallb.io, annotations: {meta.helm.sh/release-name: metallb, meta.helm.sh/release-namespace: metallb-system}}
spec:
  group: metallb.io
  names: {kind: IPAddressPool, listKind: IPAddressPoolList, plural: ipaddresspools, singular: ipaddresspool}
  scope: Namespaced
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {addresses: {type: array, items: {type: string}}, mood: {type: string}}}}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gatewayclasses.gateway.networking.k8s.io, annotations: {gateway.networking.k8s.io/bundle-version: v1.2.1, api-approved.kubernetes.io: https://example.com/1}}
spec:
  group: gateway.networking.k8s.io
  names: {kind: GatewayClass, listKind: GatewayClassList, plural: gatewayclasses, singular: gatewayclass}
  scope: Cluster
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: metallb-webhook-configuration}
webhooks:
- name: ipaddresspoolvalidationwebhook.metallb.io
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {namespace: metallb-system, name: metallb-webhook-service}}
  rules: [{apiGroups: [metallb.io], apiVersions: [v1beta1], operations: [CREATE, UPDATE], resources: [ipaddresspools]}]
`

const routesElsewhere = `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.route.openshift.io}
spec:
  group: route.openshift.io
  version: v1
  groupPriorityMinimum: 1000
  versionPriority: 15
  insecureSkipTLSVerify: true
  service: {namespace: openshift-apiserver, name: api}
`

// TestPreflight goes through the rows of the table of who owns the kinds, on an API server
// of its own.
func TestPreflight(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	dir := t.TempDir()
	own, err := cluster.StartAPIServer(ctx, dir)
	if err != nil {
		t.Skipf("no API server (run \"make tools\"): %v", err)
	}
	defer own.Stop() //nolint:errcheck // its files go with dir
	apply := func(objects string) {
		t.Helper()
		file := filepath.Join(dir, "objects.yaml")
		if err := os.WriteFile(file, []byte(objects), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := own.Kubectl(ctx, "apply", "--server-side", "-f", file); err != nil {
			t.Fatal(err)
		}
		if _, err := own.Kubectl(ctx, "wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"); err != nil && strings.Contains(objects, "CustomResourceDefinition") {
			t.Fatal(err)
		}
	}
	p := &preflights{t: t, server: own}

	r := p.as(ctx, "")
	p.is(r, preflight.Ready, "kubernetes", check.OK, "admission-policies", check.OK, "kinds", check.OK, "rights", check.OK, "webhooks", check.OK)
	p.then(r, preflight.Install, "routes.route.openshift.io", "ipaddresspools.metallb.io")

	apply(foreignKinds)
	r = p.as(ctx, "")
	p.is(r, preflight.NotReady, "kinds", check.Fail, "gateway-api", check.Warn, "webhooks", check.Fail, "rights", check.OK)
	p.then(r, preflight.Leave, "ipaddresspools.metallb.io")
	if i := slices.IndexFunc(r.Kinds, func(d preflight.Decision) bool { return d.Kind == "ipaddresspools.metallb.io" }); !slices.Equal(r.Kinds[i].Lost, []string{"spec.mood"}) {
		t.Errorf("%+v", r.Kinds[i])
	}

	// A user without rights may ask for them, and for the version; nothing else is judged.
	r = p.as(ctx, "preflight-visitor")
	p.is(r, preflight.NotReady, "kubernetes", check.OK, "rights", check.Fail, "kinds", check.Unknown, "webhooks", check.Unknown, "speaker-ports", check.Unknown)
	if !r.Partial || len(r.Kinds) > 0 || len(r.Notes) < 8 {
		t.Errorf("%+v", r)
	}

	for _, args := range [][]string{
		{"delete", "crd", "ipaddresspools.metallb.io", "gatewayclasses.gateway.networking.k8s.io"},
		{"delete", "validatingwebhookconfiguration", "metallb-webhook-configuration"},
		{"apply", "--server-side", "-k", "../../config/crd"},
	} {
		if _, err := own.Kubectl(ctx, args...); err != nil {
			t.Fatal(err)
		}
	}
	r = p.as(ctx, "")
	p.is(r, preflight.Ready, "kinds", check.OK)
	p.then(r, preflight.Keep, "routes.route.openshift.io", "ingresscontrollers.operator.openshift.io", "routepolicies.fairlead.dev")
	p.then(r, preflight.Install, "ipaddresspools.metallb.io")
	if _, err := own.Kubectl(ctx, "patch", "crd", "dnsrecords.ingress.operator.openshift.io", "--type=json", "-p",
		`[{"op": "remove", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/recordTTL"}]`); err != nil {
		t.Fatal(err)
	}
	p.then(p.as(ctx, ""), preflight.Upgrade, "dnsrecords.ingress.operator.openshift.io")

	if _, err := own.Kubectl(ctx, "delete", "crd", "routes.route.openshift.io"); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		_, err := own.Kubectl(ctx, "wait", "--for=delete", "apiservice/v1.route.openshift.io", "--timeout=1s")
		return err
	})
	apply(routesElsewhere)
	r = p.as(ctx, "")
	p.is(r, preflight.NotReady, "openshift", check.Fail)
	p.then(r, preflight.Leave, "routes.route.openshift.io", "ingresscontrollers.operator.openshift.io")
}

type preflights struct {
	t      *testing.T
	server *cluster.APIServer
}

// as judges the cluster with the rights of a user, "" for the administrator.
func (p *preflights) as(ctx context.Context, user string) *preflight.Report {
	p.t.Helper()
	config, err := p.server.RESTConfig()
	if err != nil {
		p.t.Fatal(err)
	}
	if user != "" {
		config = rest.CopyConfig(config)
		config.Impersonate.UserName = user
	}
	facts, err := collect.Preflight(ctx, config)
	if err != nil {
		p.t.Fatal(err)
	}
	return preflight.Judge(facts)
}

// is checks the verdict, and the states of checks: an id and a state by turns.
func (p *preflights) is(r *preflight.Report, verdict preflight.Verdict, pairs ...any) {
	p.t.Helper()
	if r.Verdict != verdict {
		p.t.Errorf("the verdict is %q, want %q: %+v", r.Verdict, verdict, r.Checks)
	}
	for i := 0; i < len(pairs); i += 2 {
		at := slices.IndexFunc(r.Checks, func(c preflight.Check) bool { return c.ID == pairs[i] })
		if at < 0 || r.Checks[at].State != pairs[i+1] {
			p.t.Errorf("%v is not %v: %+v", pairs[i], pairs[i+1], r.Checks)
		}
	}
}

func (p *preflights) then(r *preflight.Report, want preflight.Then, kinds ...string) {
	p.t.Helper()
	for _, kind := range kinds {
		at := slices.IndexFunc(r.Kinds, func(d preflight.Decision) bool { return d.Kind == kind })
		if at < 0 || r.Kinds[at].Then != want {
			p.t.Errorf("%s is not %s: %+v", kind, want, r.Kinds)
		}
	}
}
