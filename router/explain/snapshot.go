package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/ingress"
	"github.com/fairlead/fairlead/router/doors"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/policy"
	"github.com/fairlead/fairlead/router/render"
	"github.com/fairlead/fairlead/router/settings"
)

// Options say from which router's view answers are given.
type Options struct {
	// Router is the name of the IngressController; default "default".
	Router string
	// Domain completes routes without host; default is the IngressController's.
	Domain string
	// Now is the time at which certificates are judged, and that of manifests
	// without creation time.
	Now time.Time
}

// Snapshot is what one router serves from a set of objects.
type Snapshot struct {
	objects    *Objects
	options    Options
	controller *operatorv1.IngressController
	settings   door.Settings
	render     render.Settings
	pipeline   *pipeline.Pipeline
	source     *source
	tables     *match.Tables
	// byBackend finds the claim of a backend's name.
	byBackend map[string]*model.Claim
	// byHost finds the routes of a host, wildcard hosts under "*.domain", and
	// refused routes where they would be.
	byHost map[string][]model.Object
	owners plan.Owners // by certOwners
	// defaultCert is the router's own certificate, or nil if it is not known.
	defaultCert *model.Certificate
	findings    []api.Finding
	// reports are what the router says about policies.
	reports map[model.Object]policy.Report
	notes   []string
	// gateways has what is decided about the Gateway API, once that is asked for.
	gateways func() *gateways
}

// unknownCertificate stands for a default certificate that could not be read.
const unknownCertificate = "default:default:unknown"

// shownKey stands for the key of a router's pod, which nothing else has.
const shownKey = "KEY"

// systemCA stands for the authorities that the image of a router has.
const systemCA = "default:system:of-the-router"

// NewSnapshot decides everything that the objects say about one router.
func NewSnapshot(o *Objects, opts Options) (*Snapshot, error) {
	if len(o.Ingresses) > 0 {
		// Routes that are made of Ingresses are added to these two, and another snapshot may be
		// made of the same objects meanwhile.
		own := *o
		own.Files, own.order = maps.Clone(o.Files), maps.Clone(o.order)
		o = &own
	}
	s := &Snapshot{objects: o, options: opts, byBackend: map[string]*model.Claim{}, byHost: map[string][]model.Object{}}
	if err := s.chooseController(); err != nil {
		return nil, err
	}
	s.refusal()
	wide, findings := settings.From(s.controller, settings.Flags{
		RouterName: s.options.Router, Domain: domainOf(s.options.Domain, s.controller),
		HTTPPort: 80, HTTPSPort: 443, MaxConn: 20000, Threads: 1, AgentDir: s.agentDir(), FirewallDir: s.firewallDir(),
		SystemCA: &model.CA{ID: systemCA},
	})
	s.settings, s.render = wide.Ingest, wide.Render
	if s.controller == nil { // manifests seldom have it, and the operator says what it does not permit
		s.settings.SharedAddress = true
	}
	s.render.Key = shownKey
	for _, f := range findings {
		if !needsFiles(f.Field) {
			s.findings = append(s.findings, f)
		}
	}
	if err := s.readObjects(nil); err != nil {
		return nil, err
	}
	s.defaultCertificate()
	cert := cmp.Or(s.defaultCert, &model.Certificate{ID: unknownCertificate})
	s.pipeline = pipeline.New(doors.All(), s.source, s.settings, cert)
	s.pipeline.SetTime(s.options.Now)
	s.pipeline.Update(door.Changes{All: true})
	s.reports = reportsOf(s.pipeline)
	for key := range s.pipeline.Objects() {
		_, served := s.pipeline.Claims(key)
		for _, c := range served {
			for b := range c.Backends() {
				s.byBackend[b.Name()] = c
			}
		}
	}
	s.indexHosts()
	s.tables = s.pipeline.Want().Tables()
	s.gateways = sync.OnceValue(s.readGateways)
	s.join()
	for _, g := range o.Gaps {
		if g.Kind != "Secret" && !OfGatewayAPI(g.Kind) {
			s.note("%s", g)
		}
	}
	return s, nil
}

// readObjects makes the source of the objects: Ingresses become routes, and the
// selectors of the router choose. Routes of a former source are used again.
func (s *Snapshot) readObjects(former *source) error {
	s.source = newSource(s)
	s.source.readPolicies()
	for _, namespace := range s.source.unknownNamespaces() {
		s.note("the labels of namespace %s are not known; ClusterRoutePolicies that select namespaces by labels are taken as for it", namespace)
	}
	if err := s.convertIngresses(); err != nil {
		return err
	}
	for key, r := range s.objects.Routes {
		switch {
		case former != nil && former.Routes[key] == r && former.routes[key] != nil:
			s.source.routes[key] = former.routes[key]
		case s.objects.overlay.namespaces[key.Namespace] && ingress.Owner(r) != "":
			// convertIngresses has made it, if it is still to be
		case s.objects.Offline, s.objects.overlay.applied[refOf(r)]:
			s.source.add(key, stored(r, s.generatedDomain()))
		default:
			s.source.add(key, r)
		}
	}
	return s.source.selectRoutes(s.controller)
}

func (s *Snapshot) note(format string, args ...any) {
	n := fmt.Sprintf(format, args...)
	if !slices.Contains(s.notes, n) {
		s.notes = append(s.notes, n)
	}
}

// chooseController finds the IngressController that the answers are about.
func (s *Snapshot) chooseController() error {
	names := s.objects.ControllerNames()
	if s.options.Router == "" {
		s.options.Router = api.DefaultIngressController
		if s.objects.Controllers[s.options.Router] == nil && len(names) == 1 {
			s.options.Router = names[0]
		}
	}
	s.controller = s.objects.Controllers[s.options.Router]
	switch {
	case s.controller != nil, s.objects.Complete:
	case len(names) > 0:
		return fmt.Errorf("there is no router %q; choose with --router one of %s", s.options.Router, strings.Join(names, ", "))
	case s.objects.Offline:
		// Manifests of an application seldom have the IngressController.
	case s.objects.readable("IngressController", api.OperatorNamespace):
		s.note("there is no IngressController; answers are for a router with default settings")
	default:
		s.note("selectors and settings of router %s are not known; answers are for default settings", s.options.Router)
	}
	return nil
}

// agentDir is where the policy agent's sockets are in a router's pod, which has one
// unless the IngressController says otherwise.
func (s *Snapshot) agentDir() string {
	if s.controller != nil && !settings.Policies(&s.controller.Spec) {
		return ""
	}
	return "/var/run/fairlead-agent"
}

// firewallDir is where the firewall's socket is in a router's pod, if it has one.
func (s *Snapshot) firewallDir() string {
	if s.controller == nil || !settings.Firewall(&s.controller.Spec) {
		return ""
	}
	return "/var/run/fairlead-firewall"
}

// generatedDomain is that of hosts which the API server makes.
func (s *Snapshot) generatedDomain() string {
	return domainOf(s.options.Domain, s.objects.Controllers[api.DefaultIngressController])
}

// refusal puts the spec that was admitted last in the place of one that is
// refused, as the routers do.
func (s *Snapshot) refusal() {
	if s.controller == nil {
		return
	}
	faults := settings.Refusal(s.controller)
	if len(faults) == 0 {
		return
	}
	s.findings = append(s.findings, faults...)
	spec := s.objects.Admitted[s.controller.Name]
	if spec == nil {
		if !s.objects.Offline {
			s.note("the settings of router %s that were admitted last are not known; answers are for those that stand there now", s.options.Router)
		}
		return
	}
	held := *s.controller
	held.Spec = *spec
	s.controller = &held
}

// needsFiles reports whether a field of an IngressController names files that
// the operator mounts into the router, and that are not known here.
func needsFiles(field string) bool {
	return strings.HasPrefix(field, "spec.clientTLS") || strings.HasPrefix(field, "spec.httpErrorCodePages")
}

// domainOf returns the domain asked for, or that of a manifest, which has no
// status yet.
func domainOf(domain string, ic *operatorv1.IngressController) string {
	if domain == "" && ic != nil {
		return cmp.Or(ic.Status.Domain, ic.Spec.Domain)
	}
	return domain
}

// defaultCertificate finds the router's own certificate among the Secrets.
func (s *Snapshot) defaultCertificate() {
	key := model.Object{Kind: door.KindSecret, Namespace: api.OperandNamespace, Name: api.CertificateSecretName(s.options.Router)}
	secret := s.objects.Secrets[key]
	if secret == nil {
		return
	}
	cert, err := certificate.Default(string(secret.Data["tls.crt"]), string(secret.Data["tls.key"]))
	if err != nil {
		s.note("default certificate %s: %v", key, err)
		return
	}
	s.defaultCert = cert
}

// source gives the pipeline the routes that the router's selectors match.
type source struct {
	*Objects
	snapshot *Snapshot
	routes   map[model.Object]*routev1.Route
	selected map[model.Object]bool
	// unselected says why this router does not serve a route.
	unselected map[model.Object]string
	// ingress names the Ingress that a route was made of.
	ingress map[model.Object]string
	// unreadable routes name a Secret that the user may not read.
	unreadable map[model.Object]string
	// policies and grants are those of each namespace, and policies of the cluster under "".
	policies map[string]*policy.Set
	grants   map[string][]*gatewayv1.ReferenceGrant
}

func newSource(s *Snapshot) *source {
	return &source{
		Objects: s.objects, snapshot: s, routes: map[model.Object]*routev1.Route{}, selected: map[model.Object]bool{},
		unselected: map[model.Object]string{}, ingress: map[model.Object]string{}, unreadable: map[model.Object]string{},
	}
}

// add takes a route in as the API server would store it. What is not changed is shared with
// the one that was given: of 10,000 routes, copies are several megabytes for each snapshot.
func (s *source) add(key model.Object, given *routev1.Route) {
	r := given
	if r.UID == "" || s.Offline || r.CreationTimestamp.IsZero() {
		own := *given
		r = &own
	}
	if r.UID == "" { // the pipeline knows an object by it
		r.UID = types.UID(fmt.Sprintf("manifest-%08d-%s", s.order[refOf(r)], r.Name))
	}
	if s.Offline || r.CreationTimestamp.IsZero() {
		s.complete(r)
	}
	// The router may read Secrets that the user may not: without them, the
	// rest of the route is explained.
	if t := r.Spec.TLS; t != nil && t.ExternalCertificate != nil {
		secret := model.Object{Kind: door.KindSecret, Namespace: r.Namespace, Name: t.ExternalCertificate.Name}
		if why := s.secretGap(secret); why != "" {
			s.unreadable[key] = fmt.Sprintf("Secret %s %s", secret, why)
			own, without := *r, *t
			without.ExternalCertificate = nil
			own.Spec.TLS, r = &without, &own
		}
	}
	s.routes[key] = r
	if name := ingress.Owner(r); name != "" {
		s.ingress[key] = name
	}
}

// complete adds to a manifest what the API server adds. Manifests without age
// are younger than those with one, and among them the order counts.
func (s *source) complete(r *routev1.Route) {
	if r.CreationTimestamp.IsZero() {
		r.CreationTimestamp = metav1.NewTime(s.snapshot.options.Now)
	}
	domain := s.snapshot.settings.Domain
	if r.Spec.Host == "" && r.Spec.Subdomain == "" && r.Spec.WildcardPolicy != routev1.WildcardPolicySubdomain && domain != "" {
		r.Spec.Host = strings.ReplaceAll(r.Name, ".", "-") + "-" + r.Namespace + "." + domain
	}
}

// selectRoutes applies the router's selectors.
func (s *source) selectRoutes(ic *operatorv1.IngressController) error {
	routes, namespaces := labels.Everything(), labels.Everything()
	var err error
	if ic != nil && ic.Spec.RouteSelector != nil {
		if routes, err = metav1.LabelSelectorAsSelector(ic.Spec.RouteSelector); err != nil {
			return fmt.Errorf("IngressController %s: spec.routeSelector: %w", ic.Name, err)
		}
	}
	if ic != nil && ic.Spec.NamespaceSelector != nil {
		if namespaces, err = metav1.LabelSelectorAsSelector(ic.Spec.NamespaceSelector); err != nil {
			return fmt.Errorf("IngressController %s: spec.namespaceSelector: %w", ic.Name, err)
		}
	}
	for key, r := range s.routes {
		ns := s.Namespaces[key.Namespace]
		only := r.Annotations[api.AnnotationIngressController]
		switch {
		case only != "" && only != s.snapshot.options.Router:
			s.unselected[key] = fmt.Sprintf("only router %s may serve it", only)
		case !routes.Matches(labels.Set(r.Labels)):
			s.unselected[key] = fmt.Sprintf("router %s takes only routes with labels %s", s.snapshot.options.Router, routes)
		case namespaces.Empty():
			s.selected[key] = true
		case ns == nil:
			s.snapshot.note("labels of namespace %s are not known; its routes are taken as selected by router %s", key.Namespace, s.snapshot.options.Router)
			s.selected[key] = true
		case !namespaces.Matches(labels.Set(ns.Labels)):
			s.unselected[key] = fmt.Sprintf("router %s takes only routes of namespaces with labels %s", s.snapshot.options.Router, namespaces)
		default:
			s.selected[key] = true
		}
	}
	return nil
}

// keys returns all routes, those that are not selected included, in order.
func (s *source) keys() []model.Object {
	return slices.SortedFunc(maps.Keys(s.routes), compareKeys)
}

func compareKeys(a, b model.Object) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
}

// Notes say what the answers leave open.
func (s *Snapshot) Notes() []string { return slices.Clone(s.notes) }
