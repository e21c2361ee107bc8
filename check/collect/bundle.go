package collect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/check/bundle"
)

// BundleOptions say what to read for a bug report.
type BundleOptions struct {
	// Namespace is the only one whose objects of users are read; empty for all of them.
	Namespace string
	// Own is read where not all namespaces may be listed.
	Own string
	// Anonymise replaces hosts and namespaces.
	Anonymise bool
	// Version is that of this program.
	Version string
	// Progress is called before each step.
	Progress func(step string)
	Now      func() time.Time
}

// requestTime bounds one request.
const requestTime = 30 * time.Second

// bundler reads a cluster into an archive.
type bundler struct {
	config  *rest.Config
	client  kubernetes.Interface
	objects dynamic.Interface
	options BundleOptions
	archive *bundle.Archive
	names   *bundle.Names

	mu      sync.Mutex // guards summary.Unread
	summary bundle.Summary
}

// Bundle reads what a bug report needs into an archive, as far as the user's rights, the
// time of ctx and the archive's room go, and ends it. It fails if the cluster does not
// answer or the archive cannot be written.
func Bundle(ctx context.Context, restConfig *rest.Config, archive *bundle.Archive, options BundleOptions) (*bundle.Summary, error) {
	restConfig = rest.CopyConfig(restConfig)
	restConfig.QPS, restConfig.Burst = 50, 100
	// Questions about kinds and versions do not end with ctx.
	restConfig.Timeout = requestTime
	if end, ok := ctx.Deadline(); ok {
		restConfig.Timeout = max(min(requestTime, time.Until(end)), time.Millisecond)
	}
	client, err := kubernetes.NewForConfig(restConfig)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", restConfig.Host, err)
	}
	objects, err := dynamic.NewForConfig(restConfig)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", restConfig.Host, err)
	}
	b := &bundler{config: restConfig, client: client, objects: objects, options: options, archive: archive}
	b.summary = bundle.Summary{Schema: bundle.Schema, Version: options.Version, Time: options.Now().UTC().Format(time.RFC3339), Anonymised: options.Anonymise, Unread: []string{}, LeftOut: []string{}}
	v, err := client.Discovery().ServerVersion()
	switch {
	case err == nil:
		b.summary.Kubernetes = v.GitVersion
	case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err):
		b.unread("the version of Kubernetes", err)
	default:
		return nil, fmt.Errorf("ask cluster %s: %w", restConfig.Host, err)
	}
	for _, step := range []func(context.Context) error{b.readObjects, b.judgements, b.logs, b.routers, b.speakers} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return b.end()
}

// unread notes what could not be read.
func (b *bundler) unread(what string, err error) {
	why := reason(err)
	if errors.Is(err, context.DeadlineExceeded) || strings.Contains(why, context.DeadlineExceeded.Error()) || strings.Contains(why, "Client.Timeout") {
		why = "the time was over"
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.summary.Unread = append(b.summary.Unread, what+": "+why)
}

// end writes the list of what is missing, and ends the archive.
func (b *bundler) end() (*bundle.Summary, error) {
	slices.Sort(b.summary.Unread)
	for i := range b.summary.Unread {
		b.summary.Unread[i] = b.names.Text(bundle.Text(b.summary.Unread[i]))
	}
	b.summary.LeftOut = append(b.summary.LeftOut, b.archive.LeftOut...)
	b.summary.Files = b.archive.Files + 1
	text, err := json.MarshalIndent(b.summary, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the summary: %w", err)
	}
	if err := b.archive.End("collect.json", append(text, '\n')); err != nil {
		return nil, err
	}
	return &b.summary, nil
}

// add writes a file whose text may name keys, passwords, hosts and namespaces.
func (b *bundler) add(path, text string) error {
	return b.archive.Add(path, []byte(b.names.Text(bundle.Text(text))))
}

// addData writes a file of JSON in the same way.
func (b *bundler) addData(path string, data any) error {
	plain, err := bundle.Data(data)
	if err != nil {
		return err //nolint:wrapcheck // it says what
	}
	text, err := json.MarshalIndent(b.names.Data(plain), "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return b.archive.Add(path, append(text, '\n'))
}

// bundleSource is a kind to read, of all namespaces, or of those of the product.
type bundleSource struct {
	schema.GroupVersionResource
	// namespaces are those to read; empty for all that the user asks for. Objects without
	// namespace have cluster set.
	namespaces []string
	cluster    bool
}

// bundleSources are what is read. Secrets and ConfigMaps are not among them.
func bundleSources() []bundleSource {
	product := []string{api.OperatorNamespace, api.OperandNamespace, api.CanaryNamespace, api.ProviderNamespace}
	var all []bundleSource
	add := func(group, version string, cluster bool, namespaces []string, resources ...string) {
		for _, r := range resources {
			all = append(all, bundleSource{schema.GroupVersionResource{Group: group, Version: version, Resource: r}, namespaces, cluster})
		}
	}
	add("", "v1", true, nil, "nodes", "namespaces")
	add("", "v1", false, product, "pods", "events")
	add("apps", "v1", false, product, "deployments", "daemonsets", "replicasets")
	add("coordination.k8s.io", "v1", false, product, "leases")
	add("networking.k8s.io", "v1", false, product, "networkpolicies")
	add("networking.k8s.io", "v1", true, nil, "ingressclasses")
	add("operator.openshift.io", "v1", false, []string{api.OperatorNamespace}, "ingresscontrollers")
	add("ingress.operator.openshift.io", "v1", false, []string{api.OperatorNamespace}, "dnsrecords")
	add("metallb.io", "v1beta1", false, []string{api.ProviderNamespace}, "ipaddresspools", "l2advertisements", "bgpadvertisements", "bfdprofiles", "communities",
		"servicel2statuses", "servicebgpstatuses", "bgpsessionstates", "configurationstates")
	add("metallb.io", "v1beta2", false, []string{api.ProviderNamespace}, "bgppeers")
	add("fairlead.dev", "v1alpha1", true, nil, "clusterroutepolicies")
	add("gateway.networking.k8s.io", "v1", true, nil, "gatewayclasses")
	// Of users.
	add("", "v1", false, nil, "services")
	add("discovery.k8s.io", "v1", false, nil, "endpointslices")
	add("networking.k8s.io", "v1", false, nil, "ingresses")
	add("route.openshift.io", "v1", false, nil, "routes")
	add("fairlead.dev", "v1alpha1", false, nil, "routepolicies")
	add("gateway.networking.k8s.io", "v1", false, nil, "gateways", "listenersets", "httproutes", "grpcroutes", "tlsroutes", "tcproutes", "udproutes", "backendtlspolicies", "referencegrants")
	return all
}

// found are the objects of a kind.
type found struct {
	source bundleSource
	items  []map[string]any
}

// readObjects reads all objects, and writes a file for each kind in each namespace.
func (b *bundler) readObjects(ctx context.Context) error {
	sources := bundleSources()
	b.options.Progress(fmt.Sprintf("read objects of %d kinds", len(sources)))
	all := make([]found, len(sources))
	budget := &budget{room: b.archive.Room()}
	var work []func(context.Context)
	for i := range sources {
		work = append(work, func(ctx context.Context) { all[i] = found{sources[i], b.list(ctx, sources[i], budget)} })
	}
	together(ctx, work)
	if b.options.Anonymise {
		var objects []map[string]any
		for i := range all {
			objects = append(objects, all[i].items...)
		}
		b.names = bundle.NewNames(objects)
	}
	for i := range all {
		if err := b.write(&all[i]); err != nil {
			return err
		}
	}
	return nil
}

// budget bounds what is kept in memory.
type budget struct {
	mu   sync.Mutex
	room int64
}

func (b *budget) take(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.room -= n
	return b.room >= 0
}

// list reads the objects of a kind, redacted.
func (b *bundler) list(ctx context.Context, s bundleSource, budget *budget) []map[string]any {
	namespaces := s.namespaces
	if len(namespaces) == 0 {
		namespaces = []string{""}
		if !s.cluster {
			namespaces = []string{b.options.Namespace}
		}
	}
	var all []map[string]any
	for _, namespace := range namespaces {
		items, err := b.pages(ctx, s, namespace, budget)
		if apierrors.IsForbidden(err) && namespace == "" && !s.cluster && b.options.Own != "" {
			b.unread(s.name("", "but those of namespace "+b.options.Own), err)
			namespace = b.options.Own
			items, err = b.pages(ctx, s, namespace, budget)
		}
		if err != nil && !apierrors.IsNotFound(err) { // a kind that does not exist has no objects
			b.unread(s.name(namespace, ""), err)
		}
		all = append(all, items...)
	}
	return all
}

// name is what a note calls a kind.
func (s *bundleSource) name(namespace, further string) string {
	text := strings.TrimSuffix(s.Resource+"."+s.Group, ".")
	switch {
	case s.cluster:
	case namespace == "":
		text += " of all namespaces"
	default:
		text += " of namespace " + namespace
	}
	return strings.TrimSuffix(text+", "+further, ", ")
}

var errNoRoom = errors.New("there was no room for all of them")

func (b *bundler) pages(ctx context.Context, s bundleSource, namespace string, budget *budget) ([]map[string]any, error) {
	var all []map[string]any
	for next := ""; ; {
		page, err := b.objects.Resource(s.GroupVersionResource).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: pageSize, Continue: next})
		if err != nil {
			return all, err //nolint:wrapcheck // the caller looks at its kind
		}
		for i := range page.Items {
			if !budget.take(size(&page.Items[i])) {
				return all, errNoRoom
			}
			all = append(all, bundle.Redact(page.Items[i].Object))
		}
		if next = page.GetContinue(); next == "" {
			return all, nil
		}
	}
}

// size is about what an object takes.
func size(o *unstructured.Unstructured) int64 {
	text, err := runtime.Encode(unstructured.UnstructuredJSONScheme, o)
	if err != nil {
		return 0
	}
	return int64(len(text))
}

// write writes a file for each namespace.
func (b *bundler) write(f *found) error {
	files := map[string][]string{}
	for _, o := range f.items {
		namespace, _, _ := unstructured.NestedString(o, "metadata", "namespace")
		text, err := yaml.Marshal(b.names.Object(o))
		if err != nil {
			return fmt.Errorf("write an object: %w", err)
		}
		namespace = b.names.Text(namespace)
		files[namespace] = append(files[namespace], string(text))
	}
	name := strings.TrimSuffix(f.source.Resource+"."+f.source.Group, ".") + ".yaml"
	for _, namespace := range sortedKeys(files) {
		path := bundle.Path("objects", namespace, name)
		if namespace == "" {
			path = bundle.Path("objects", name)
		}
		if err := b.archive.Add(path, []byte(strings.Join(files[namespace], "---\n"))); err != nil {
			return err
		}
	}
	return nil
}
