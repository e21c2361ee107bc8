// Package externaldns leaves the publishing of names to external-dns, which
// knows many DNS services: it writes a DNSEndpoint object for every record.
// external-dns must run with --source=crd, and finds the zones itself.
package externaldns

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/lbprovider/cloud/dns"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// Zone is the name of the one zone that there is: wherever external-dns writes.
const Zone = "external-dns"

// Provider is a hook.DNSHook. Unlike others it talks to the Kubernetes API,
// because that is where external-dns reads.
type Provider struct{ client client.Client }

var _ hook.DNSHook = (*Provider)(nil)

// New returns a Provider. The client needs no cache of DNSEndpoints, and is
// best one without.
func New(c client.Client) *Provider { return &Provider{client: c} }

// ResolveZone returns Zone for everything.
func (*Provider) ResolveZone(_ context.Context, s hook.ZoneSelector) (hook.Zone, error) {
	return hook.Zone{ID: Zone, Name: ".", Private: s.Private}, nil
}

// EnsureRecord writes the DNSEndpoint.
func (p *Provider) EnsureRecord(ctx context.Context, r *hook.Record, _ hook.Zone) (*hook.RecordResult, error) {
	wanted, err := endpointOf(r)
	if err != nil {
		return nil, err
	}
	live := empty()
	err = p.client.Get(ctx, client.ObjectKeyFromObject(wanted), live)
	switch {
	case apierrors.IsNotFound(err):
		if err := p.client.Create(ctx, wanted); err != nil {
			return nil, failed("create", wanted, err)
		}
		return pending(true), nil
	case err != nil:
		return nil, failed("read", wanted, err)
	case live.GetLabels()[labelOwner] != r.Owner && !r.Adopt:
		return nil, hook.Errorf(hook.ClassConflict, "DNSEndpoint %s/%s belongs to another owner (label %s)", live.GetNamespace(), live.GetName(), labelOwner)
	}
	observed, _, err := unstructured.NestedInt64(live.Object, "status", "observedGeneration")
	if err != nil {
		observed = 0
	}
	switch {
	case same(live, wanted) && observed == live.GetGeneration():
		return &hook.RecordResult{}, nil
	case same(live, wanted):
		return pending(false), nil
	}
	live.Object["spec"] = wanted.Object["spec"]
	live.SetLabels(wanted.GetLabels())
	if err := p.client.Update(ctx, live); err != nil {
		return nil, failed("update", live, err)
	}
	return pending(true), nil
}

// pending is the result while external-dns has not said, by the status of the
// DNSEndpoint, that it has read it. What its DNS service made of it, it never
// says.
func pending(changed bool) *hook.RecordResult {
	return &hook.RecordResult{
		Changed: changed, Pending: true, RetryAfter: hook.Duration(retry),
		Message: "external-dns has not read the DNSEndpoint yet (its status.observedGeneration is behind); does it run with --source=crd, and may it write that status?",
	}
}

// retry is how often the DNSEndpoint is looked at until external-dns has read it.
const retry = 5 * time.Second

// DeleteRecord deletes the DNSEndpoint, if it is ours. Whether external-dns
// removes the name depends on its --policy.
func (p *Provider) DeleteRecord(ctx context.Context, r *hook.Record, _ hook.Zone) error {
	wanted, err := endpointOf(r)
	if err != nil {
		return err
	}
	live := empty()
	err = p.client.Get(ctx, client.ObjectKeyFromObject(wanted), live)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil
	case err != nil:
		return failed("read", wanted, err)
	case live.GetLabels()[labelOwner] != r.Owner:
		return nil
	}
	if err := p.client.Delete(ctx, live); !apierrors.IsNotFound(err) {
		return failed("delete", live, err)
	}
	return nil
}

// labelOwner has the owner id of the operator that made a DNSEndpoint.
const labelOwner = "fairlead.dev/dns-owner"

func empty() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "externaldns.k8s.io", Version: "v1alpha1", Kind: "DNSEndpoint"})
	return u
}

// endpointOf returns the DNSEndpoint of a record. It lies beside the DNSRecord
// and has its name.
func endpointOf(r *hook.Record) (*unstructured.Unstructured, error) {
	parts := strings.Split(r.Resource, "/")
	if len(parts) != 3 {
		return nil, hook.Errorf(hook.ClassInternal, "the record %s says not which object it is made of", r.Name)
	}
	targets := make([]any, 0, len(r.Targets))
	for _, t := range r.Targets {
		targets = append(targets, strings.TrimSuffix(t, "."))
	}
	u := empty()
	u.SetNamespace(parts[1])
	u.SetName(parts[2])
	u.SetLabels(map[string]string{labelOwner: r.Owner})
	u.Object["spec"] = map[string]any{"endpoints": []any{map[string]any{
		"dnsName": strings.TrimSuffix(dns.Name(r.Name), "."), "recordType": string(r.Type), "recordTTL": r.TTL, "targets": targets,
	}}}
	return u, nil
}

func same(a, b *unstructured.Unstructured) bool {
	return fmt.Sprint(a.Object["spec"]) == fmt.Sprint(b.Object["spec"])
}

// failed classifies the API server's errors.
func failed(verb string, u *unstructured.Unstructured, err error) error {
	if err == nil {
		return nil
	}
	e := &hook.Error{
		Class: hook.ClassUnavailable, Action: verb, Cause: err,
		Message: fmt.Sprintf("%s DNSEndpoint %s/%s: %v", verb, u.GetNamespace(), u.GetName(), err),
	}
	switch {
	case meta.IsNoMatchError(err):
		e.Class, e.RetryAfter = hook.ClassInvalidConfig, time.Minute
		e.Message = "this cluster has no kind DNSEndpoint (externaldns.k8s.io/v1alpha1): install the CRD of external-dns, and run it with --source=crd"
	case apierrors.IsForbidden(err):
		e.Class = hook.ClassDenied
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		e.Class = hook.ClassBusy
	case apierrors.IsInvalid(err):
		e.Class = hook.ClassInvalidConfig
	}
	return e
}
