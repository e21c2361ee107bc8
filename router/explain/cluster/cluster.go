// Package cluster reads the objects that explain works on from a cluster, as far
// as the user's rights go. What they do not allow is noted as a gap.
package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/authentication"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
	"github.com/fairlead/fairlead/router/settings"
)

// reader reads what the user's rights allow, and notes the rest.
type reader struct {
	client  client.Client
	objects *explain.Objects
	// own is the namespace to look into if all of them may not be listed.
	own string
	// without are kinds that are not read, and whose objects are not known.
	without []string
	// inPages reads large lists in parts, and keeps of objects what answers are made from.
	inPages bool
}

// Read reads a cluster. Own is the namespace to look into where not all of them
// may be listed. Without names kinds of objects that routes name, "Secret" or "ConfigMap", which
// are not read.
func Read(ctx context.Context, config *rest.Config, own string, without ...string) (*explain.Objects, error) {
	return read(ctx, config, &reader{own: own, without: without})
}

// ReadInPages is Read for a program that goes on: it takes a half more time, and a third of the
// memory.
func ReadInPages(ctx context.Context, config *rest.Config, own string) (*explain.Objects, error) {
	return read(ctx, config, &reader{own: own, inPages: true})
}

func read(ctx context.Context, config *rest.Config, r *reader) (*explain.Objects, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = 50, 100
	scheme, err := types()
	if err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	r.client, r.objects = c, explain.NewObjects()
	if err := r.read(ctx); err != nil {
		return nil, fmt.Errorf("read cluster %s: %w", config.Host, err)
	}
	return r.objects, nil
}

// types are those that are read.
func types() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, discoveryv1.AddToScheme, networkingv1.AddToScheme, routev1.AddToScheme, operatorv1.AddToScheme, v1alpha1.AddToScheme,
		gatewayv1.Install,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register types: %w", err)
		}
	}
	return scheme, nil
}

func (r *reader) read(ctx context.Context) error {
	if err := r.lists(ctx, kinds()); err != nil {
		return err
	}
	if err := r.gateways(ctx); err != nil {
		return err
	}
	if err := r.namespaces(ctx); err != nil {
		return err
	}
	if err := r.admitted(ctx); err != nil {
		return err
	}
	if err := r.secrets(ctx); err != nil {
		return err
	}
	return r.configMaps(ctx)
}

func (r *reader) lists(ctx context.Context, all []kind) error {
	for _, k := range all {
		if err := r.list(ctx, k); err != nil {
			return err
		}
	}
	return nil
}

// namespaces reads what says which policies are for all Routes of a namespace, and which
// namespaces selectors select; if that is forbidden, for the user's own namespace.
func (r *reader) namespaces(ctx context.Context) error {
	list := &corev1.NamespaceList{}
	err := r.client.List(ctx, list)
	switch {
	case err == nil:
		return r.add(list)
	case !apierrors.IsForbidden(err):
		return fmt.Errorf("list Namespaces: %w", err)
	}
	own := &corev1.Namespace{}
	err = r.client.Get(ctx, client.ObjectKey{Name: r.own}, own)
	switch {
	case err == nil:
		r.objects.Add(own)
		r.objects.Gaps = append(r.objects.Gaps, explain.Gap{Kind: "Namespace", Except: r.own, Why: "you have no right to; " + r.own + " was read"})
		return nil
	case apierrors.IsForbidden(err) || apierrors.IsNotFound(err):
		r.gap("Namespace", "", "")
		return nil
	}
	return fmt.Errorf("read Namespace %s: %w", r.own, err)
}

// admitted reads which specs routers use in place of those that are refused.
func (r *reader) admitted(ctx context.Context) error {
	for name, ic := range r.objects.Controllers {
		if len(settings.Refusal(ic)) == 0 {
			continue
		}
		m := &corev1.ConfigMap{}
		err := r.client.Get(ctx, client.ObjectKey{Namespace: api.OperandNamespace, Name: api.AdmittedConfigMapName(name)}, m)
		switch {
		case apierrors.IsNotFound(err) || apierrors.IsForbidden(err):
			continue
		case err != nil:
			return fmt.Errorf("read the settings of IngressController %s that were admitted last: %w", name, err)
		}
		spec := &operatorv1.IngressControllerSpec{}
		if err := json.Unmarshal([]byte(m.Data[api.AdmittedSpecKey]), spec); err == nil {
			r.objects.Admitted[name] = spec
		}
	}
	return nil
}

// list reads all objects of a kind; if that is forbidden, those of the user's
// own namespace.
func (r *reader) list(ctx context.Context, k kind) error {
	err := r.all(ctx, k.list, k.in)
	switch {
	case err == nil:
		return nil
	case meta.IsNoMatchError(err) || apierrors.IsNotFound(err):
		if k.name == "Route" {
			return fmt.Errorf("the cluster has no Routes: is Fairlead installed? %w", err)
		}
		return nil
	case !apierrors.IsForbidden(err):
		return fmt.Errorf("list %ss: %w", k.name, err)
	}
	if k.clustered || k.in != "" {
		r.gap(k.name, k.in, "")
		return nil
	}
	if err := r.all(ctx, k.list, r.own); err != nil {
		if !apierrors.IsForbidden(err) {
			return fmt.Errorf("list %ss: %w", k.name, err)
		}
		r.gap(k.name, "", "")
		return nil
	}
	r.objects.Gaps = append(r.objects.Gaps, explain.Gap{
		Kind: k.name, Except: r.own, Why: "you have no right to; those of namespace " + r.own + " were read",
	})
	return nil
}

// page is how many objects are read at once, where lists are read in pages.
const page = 500

// all takes in all objects of a kind, of one namespace if it is not empty.
func (r *reader) all(ctx context.Context, list client.ObjectList, namespace string) error {
	for next := ""; ; {
		options := &client.ListOptions{Namespace: namespace, Continue: next}
		if r.inPages {
			options.Limit = page
		}
		// Decoding into a list that was used would change what was taken from it.
		of, _ := list.DeepCopyObject().(client.ObjectList)
		err := r.client.List(ctx, of, options)
		if apierrors.IsResourceExpired(err) && next != "" {
			next = "" // it took too long: from the start, with what has not gone since
			continue
		}
		if err != nil {
			return err //nolint:wrapcheck // the caller looks at it, and wraps it
		}
		if err := r.add(of); err != nil {
			return err
		}
		if next = of.GetContinue(); next == "" {
			return nil
		}
	}
}

func (r *reader) add(list client.ObjectList) error {
	items, err := meta.ExtractList(list)
	if err != nil {
		return fmt.Errorf("read list: %w", err)
	}
	for _, i := range items {
		if o, ok := i.(metav1.Object); ok {
			if r.inPages {
				reduce(o)
			}
			r.objects.Add(o)
		}
	}
	return nil
}

// secrets reads the Secrets that matter: those that routes and Ingresses name,
// and the routers' default certificates.
func (r *reader) secrets(ctx context.Context) error {
	if r.leavesOut("Secret") {
		return nil
	}
	keys := model.Objects{}
	for k, route := range r.objects.Routes {
		if t := route.Spec.TLS; t != nil && t.ExternalCertificate != nil {
			keys[model.Object{Kind: door.KindSecret, Namespace: k.Namespace, Name: t.ExternalCertificate.Name}] = struct{}{}
		}
	}
	for k, i := range r.objects.Ingresses {
		for _, t := range i.Spec.TLS {
			if t.SecretName != "" {
				keys[model.Object{Kind: door.KindSecret, Namespace: k.Namespace, Name: t.SecretName}] = struct{}{}
			}
		}
	}
	r.namedSecrets(keys)
	r.gatewaySecrets(keys)
	for name := range r.objects.Controllers {
		keys[model.Object{Kind: door.KindSecret, Namespace: api.OperandNamespace, Name: api.CertificateSecretName(name)}] = struct{}{}
	}
	for k := range keys {
		s := &corev1.Secret{}
		err := r.client.Get(ctx, client.ObjectKey{Namespace: k.Namespace, Name: k.Name}, s)
		switch {
		case err == nil:
			r.objects.Add(s)
		case apierrors.IsForbidden(err):
			r.gap("Secret", k.Namespace, k.Name)
		case !apierrors.IsNotFound(err):
			return fmt.Errorf("read Secret %s: %w", k, err)
		}
	}
	return nil
}

// named is what NAME or NAMESPACE/NAME means in a policy of a namespace, or of the cluster.
func named(kind model.Kind, namespace, text string) model.Object {
	if other, name, ok := strings.Cut(text, "/"); ok {
		return model.Object{Kind: kind, Namespace: other, Name: name}
	}
	return model.Object{Kind: kind, Namespace: cmp.Or(namespace, api.OperandNamespace), Name: text}
}

// namedSecrets adds the Secrets that authentication needs.
func (r *reader) namedSecrets(keys model.Objects) {
	add := func(namespace, name string) {
		if name != "" {
			keys[named(door.KindSecret, namespace, name)] = struct{}{}
		}
	}
	for k, route := range r.objects.Routes {
		add(k.Namespace, route.Annotations[policy.AnnotationBasicSecret])
		add(k.Namespace, route.Annotations[policy.AnnotationClientCA])
		for _, name := range policy.IngressSecrets(route.Annotations[api.AnnotationIngressPolicy]) {
			add(k.Namespace, name)
		}
	}
	for k, i := range r.objects.Ingresses {
		add(k.Namespace, i.Annotations[policy.AnnotationBasicSecret])
		add(k.Namespace, i.Annotations[policy.AnnotationClientCA])
	}
	for k, p := range r.objects.Policies {
		for _, name := range slices.Concat(authentication.Secrets(p.Spec.Authentication), policy.UpstreamSecrets(p.Spec.Upstream)) {
			add(k.Namespace, name)
		}
	}
}

// configMaps reads the ConfigMaps with pages of routes, and with authorities.
func (r *reader) configMaps(ctx context.Context) error {
	if r.leavesOut("ConfigMap") {
		return nil
	}
	keys := model.Objects{}
	add := func(namespace, name string) {
		if name != "" {
			keys[named(door.KindConfigMap, namespace, name)] = struct{}{}
		}
	}
	for k, route := range r.objects.Routes {
		add(k.Namespace, route.Annotations[policy.AnnotationErrorPages])
	}
	for k, i := range r.objects.Ingresses {
		add(k.Namespace, i.Annotations[policy.AnnotationErrorPages])
	}
	for k, p := range r.objects.Policies {
		if a := p.Spec.Authentication; a != nil && a.ClientCertificate != nil {
			add(k.Namespace, string(a.ClientCertificate.CAConfigMap))
		}
		if p.Spec.Pages == nil {
			continue
		}
		for _, e := range p.Spec.Pages.Errors {
			if e.ConfigMap != nil {
				add(k.Namespace, policy.Named(e.ConfigMap.Namespace, e.ConfigMap.Name))
			}
		}
	}
	r.authorities(add)
	for k := range keys {
		c := &corev1.ConfigMap{}
		err := r.client.Get(ctx, client.ObjectKey{Namespace: k.Namespace, Name: k.Name}, c)
		switch {
		case err == nil:
			r.objects.Add(c)
		case apierrors.IsForbidden(err):
			r.gap(string(k.Kind), k.Namespace, k.Name)
		case !apierrors.IsNotFound(err):
			return fmt.Errorf("read ConfigMap %s: %w", k, err)
		}
	}
	return nil
}

// leavesOut notes that a kind is not read, if that is so.
func (r *reader) leavesOut(kind string) bool {
	left := slices.Contains(r.without, kind)
	if left {
		r.objects.Gaps = append(r.objects.Gaps, explain.Gap{Kind: kind, Why: "this program has no right to"})
	}
	return left
}

// gap notes what could not be read.
func (r *reader) gap(kind, namespace, name string) {
	r.objects.Gaps = append(r.objects.Gaps, explain.Gap{Kind: kind, Namespace: namespace, Name: name, Why: "you have no right to"})
}
