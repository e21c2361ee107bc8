package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/ingress"
	"github.com/fairlead/fairlead/router/doors"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
	"github.com/fairlead/fairlead/router/plan"
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
	objects *Objects
	// asked are the options as they were given, and options those with the router that is chosen.
	asked      Options
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
	// hostsOf has the hosts under which byHost has a route.
	hostsOf map[model.Object][]string
	owners  plan.Owners // by certOwners
	// defaultCert is the router's own certificate, or nil if it is not known.
	defaultCert *model.Certificate
	findings    []api.Finding
	// reports are what the router says about policies.
	reports *reports
	notes   []string
	// ofIngresses are findings and notes about the Ingresses of each namespace.
	ofIngresses map[string]said
	// ofGateways is what is decided about the Gateway API, once that is asked for (gatewaysRead).
	ofGateways   *gateways
	gatewaysRead bool
	list         rowList
	later        later
	// rivalsOf are the hosts by which other namespaces decide about those that a user sees.
	rivalsOf rivals
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
	s := &Snapshot{objects: o, asked: opts}
	return s, s.decideAll(opts)
}

// decideAll decides everything from the beginning.
func (s *Snapshot) decideAll(opts Options) error {
	s.start(opts)
	if err := s.chooseController(); err != nil {
		return err
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
		return err
	}
	s.defaultCertificate()
	cert := cmp.Or(s.defaultCert, &model.Certificate{ID: unknownCertificate})
	s.pipeline = pipeline.New(doors.All(), s.source, s.settings, cert)
	s.pipeline.Forget()
	s.pipeline.SetTime(s.options.Now)
	s.pipeline.Update(door.Changes{All: true})
	s.reports = newReports(s.pipeline)
	addBackends(s.byBackend, s.pipeline, s.pipeline.Objects())
	s.indexHosts()
	s.tables = s.pipeline.Want().Tables()
	s.join()
	for _, g := range s.objects.Gaps {
		if g.Kind != "Secret" && !OfGatewayAPI(g.Kind) {
			s.note("%s", g)
		}
	}
	return nil
}

// start makes a snapshot one that has decided nothing.
func (s *Snapshot) start(opts Options) {
	s.options, s.byBackend, s.byHost, s.hostsOf = opts, map[string]*model.Claim{}, map[string][]model.Object{}, map[model.Object][]string{}
	s.controller, s.source, s.pipeline, s.tables, s.owners, s.defaultCert = nil, nil, nil, nil, nil, nil
	s.findings, s.notes, s.ofIngresses, s.reports = nil, nil, nil, nil
	s.ofGateways, s.gatewaysRead, s.list = nil, false, rowList{}
}

// addBackends notes whose the backends of objects are.
func addBackends(to map[string]*model.Claim, p *pipeline.Pipeline, of model.Objects) {
	for key := range of {
		_, served := p.Claims(key)
		for _, c := range served {
			for b := range c.Backends() {
				to[b.Name()] = c
			}
		}
	}
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
			s.source.routes[key] = former.routes[key] // keys are not asked for yet
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

// Notes say what the answers leave open.
func (s *Snapshot) Notes() []string {
	notes := slices.Clone(s.notes)
	for _, namespace := range slices.Sorted(maps.Keys(s.ofIngresses)) {
		for _, n := range s.ofIngresses[namespace].notes {
			if !slices.Contains(notes, n) {
				notes = append(notes, n)
			}
		}
	}
	return notes
}

// said are findings and notes about something that may be said again.
type said struct {
	findings []api.Finding
	notes    []string
}

// allFindings are those about the IngressController and about Ingresses.
func (s *Snapshot) allFindings() []api.Finding {
	all := slices.Clone(s.findings)
	for _, namespace := range slices.Sorted(maps.Keys(s.ofIngresses)) {
		all = append(all, s.ofIngresses[namespace].findings...)
	}
	return all
}
