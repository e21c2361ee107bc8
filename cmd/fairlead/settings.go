package main

import (
	"runtime"
	"sync"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/cmd/internal/machine"
	"github.com/fairlead/fairlead/router/certfile"
	"github.com/fairlead/fairlead/router/filesource"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/render"
	"github.com/fairlead/fairlead/router/settings"
)

// settingsReader joins the command line with the IngressController of the files.
type settingsReader struct {
	config *config
	source *filesource.Source
	agent  string
	// report is called with the findings when they differ.
	report func([]api.Finding)

	mu sync.Mutex
	// system are the authorities that the machine trusts, or nil.
	system *model.CA
	// found are the findings about values, refusal is HAProxy's, and files says that its
	// files cannot be written.
	found          []api.Finding
	refusal, files *api.Finding
}

// mostThreads is how many threads HAProxy gets here unless the IngressController says
// otherwise: the machine has other things to do.
const mostThreads = 4

func (s *server) settingsReader() *settingsReader {
	system, err := certfile.System(certfile.SystemFile)
	if err != nil {
		s.log.Warn("BackendTLSPolicies that want the authorities of the machine are refused", "err", err)
	}
	return &settingsReader{config: s.config, source: s.source, report: s.screen.settings, system: system}
}

// read returns the settings as they are now.
func (s *settingsReader) read() settings.Settings {
	ic := s.source.IngressController()
	flags := settings.Flags{
		RouterName: s.config.router, Domain: s.config.domainOf(ic), HTTPPort: int(s.config.http), HTTPSPort: int(s.config.https), Listen: s.config.listen,
		MaxConn: min(settings.DefaultMaxConnections, render.MostConnections(machine.Files())), Files: machine.Files(),
		Threads: min(machine.Threads(runtime.GOMAXPROCS(0)), mostThreads), AgentDir: s.agent, SystemCA: s.system,
	}
	if s.config.https != 443 {
		flags.RedirectPort = int(s.config.https)
	}
	if ic != nil {
		ca, pages := ic.Spec.ClientTLS.ClientCA.Name, ic.Spec.HttpErrorCodePages.Name
		flags.ClientCA = s.source.Config(ca, "ca-bundle.pem")
		flags.PageUnavailable, flags.PageNotFound = s.source.Config(pages, "error-page-503.http"), s.source.Config(pages, "error-page-404.http")
	}
	read, findings := settings.From(ic, flags)
	if s.config.accessLog && read.Render.Log.Target == "" {
		read.Render.Log.Target = "stdout"
	}
	s.set(func() { s.found = findings })
	return read
}

// domainOf is the flag's if it is given, or else the IngressController's.
func (c *config) domainOf(ic *operatorv1.IngressController) string {
	if c.domainGiven || ic == nil || ic.Spec.Domain == "" {
		return c.domain
	}
	return ic.Spec.Domain
}

// refused takes HAProxy's refusal of the settings, nil if there is none.
func (s *settingsReader) refused(f *api.Finding) { s.set(func() { s.refusal = s.of(f) }) }

// filesFailed takes that HAProxy's files cannot be written, nil if they can.
func (s *settingsReader) filesFailed(f *api.Finding) { s.set(func() { s.files = s.of(f) }) }

func (s *settingsReader) of(f *api.Finding) *api.Finding {
	if f != nil {
		f.Object = api.ObjectRef{Group: operatorv1.GroupName, Kind: "IngressController", Namespace: api.OperatorNamespace, Name: s.config.router}
	}
	return f
}

func (s *settingsReader) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	var all []api.Finding
	all = append(all, s.found...)
	for _, f := range []*api.Finding{s.refusal, s.files} {
		if f != nil {
			all = append(all, *f)
		}
	}
	s.report(all)
}
