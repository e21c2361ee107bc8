package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/cmd/internal/logging"
	"github.com/fairlead/fairlead/cmd/internal/machine"
	"github.com/fairlead/fairlead/router/certfile"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/render"
	"github.com/fairlead/fairlead/router/settings"
)

// errUsage means that the flags were wrong and the user has seen why.
var errUsage = errors.New("usage")

// config is the command line of the router.
type config struct {
	kubeconfig, name, domain                             string
	haproxy, workDir, stateDir                           string
	runDir                                               string
	httpPort, httpsPort                                  int
	statsPort, healthPort                                int
	certificate, statsAuth                               string
	clientCA, errorPages                                 string
	destinationCA, systemCA, logSocket                   string
	admittedSettings, agentDir, firewallDir, sessionKeys string
	agentCertificates                                    string
	// system is what systemCA has.
	system *model.CA
	// oneLogFormat says that HAProxy cannot write records of requests beside an access log.
	oneLogFormat                bool
	maxConnections, threads     int
	supervise, ipv6             bool
	canonicalHostname           string
	namespace, controllersSpace string
	shutdownDelay, grace        time.Duration
	// log is what main has scanned already.
	log logging.Options
}

const usage = `router serves OpenShift Routes with HAProxy, without reloads.

On a cluster the operator starts it. By hand, against any cluster:

  router --kubeconfig ~/.kube/config --name default --domain apps.example.com \
         --haproxy /usr/sbin/haproxy --work-dir /tmp/router \
         --http-port 8080 --https-port 8443 --stats-port 1936

then see https://localhost:1936/ for statistics and /healthz/ready for readiness.
If an IngressController of that name exists, its settings apply, live.

Only keep HAProxy running, for a container of its own:

  router haproxy --haproxy /usr/sbin/haproxy --work-dir /var/lib/haproxy

Flags:
`

func parseFlags(args []string, haproxyOnly bool) (*config, error) {
	c := &config{}
	fs := flag.NewFlagSet("router", flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), usage)
		fs.PrintDefaults()
	}
	fs.StringVar(&c.haproxy, "haproxy", "haproxy", "path of the HAProxy binary, 3.0 or newer; 3.4 is needed to change routes without a reload")
	fs.StringVar(&c.workDir, "work-dir", "/var/lib/haproxy", "directory for HAProxy's files; where HAProxy runs in a container of its own, that container needs only to read it, if --run-dir is another one")
	fs.StringVar(&c.runDir, "run-dir", "", "directory for HAProxy's sockets, which is all that HAProxy writes to; default is \"run\" in the work directory")
	fs.DurationVar(&c.grace, "drain-timeout", time.Hour, "how long running requests may take when the router stops")
	c.log.Register(fs)
	if !haproxyOnly {
		fs.StringVar(&c.stateDir, "state-dir", "", "directory for the state that the next router process in the same pod reads, such as the last good versions of routes; HAProxy needs no access to it; default is \"state\" in the work directory")
		fs.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig file for access to the API server; default is the pod's service account")
		fs.StringVar(&c.name, "name", "default", "name of the IngressController, and routerName in the status of routes")
		fs.StringVar(&c.domain, "domain", "", "domain of routes that have only a subdomain")
		fs.IntVar(&c.httpPort, "http-port", 80, "port for HTTP")
		fs.IntVar(&c.httpsPort, "https-port", 443, "port for HTTPS")
		fs.IntVar(&c.statsPort, "stats-port", 1936, "port for metrics, the statistics page, and probes")
		fs.IntVar(&c.healthPort, "health-port", 0, "port for probes alone; default is none")
		fs.StringVar(&c.certificate, "default-certificate", "", "PEM file with chain and key, or directory with tls.crt and tls.key; default is a self-signed certificate")
		fs.StringVar(&c.destinationCA, "destination-ca", "", "directory with service-ca.crt, the CA bundle that verifies the certificates of pods, for SERVICE.NAMESPACE.svc, behind re-encrypt routes without a CA of their own; by default those certificates are not verified")
		fs.StringVar(&c.systemCA, "system-ca", certfile.SystemFile, "file with the authorities of BackendTLSPolicies that say wellKnownCACertificates: System; where it is missing such policies are refused")
		fs.StringVar(&c.clientCA, "client-ca", "", "directory with ca-bundle.pem, and crls.pem if there are revocation lists, for spec.clientTLS of the IngressController")
		fs.StringVar(&c.errorPages, "error-pages", "", "directory with error-page-503.http and error-page-404.http for spec.httpErrorCodePages of the IngressController")
		fs.StringVar(&c.admittedSettings, "admitted-settings", "", "directory with "+api.AdmittedSpecKey+": the spec of the IngressController that was admitted last, for a router that starts while a refused one stands there")
		fs.StringVar(&c.agentDir, "agent-dir", "", "directory with the sockets of `router agent`, which decides about passwords, tokens and auth servers; without it routes that need that answer 503")
		fs.StringVar(&c.firewallDir, "firewall-dir", "", "directory with the socket of `router-firewall`, which judges requests; without it Routes with a firewall of mode Block answer 503")
		fs.StringVar(&c.sessionKeys, "session-keys", "", "directory with the keys that cookies of sessions are encrypted with; without it routes with a login by OpenID Connect answer 503")
		fs.StringVar(&c.agentCertificates, "agent-certificates", "", "directory with the certificates that policy agents of this IngressController's routers show each other; without it routes with limits of scope Shared answer 503")
		fs.StringVar(&c.logSocket, "log-socket", "", "datagram socket of `router logs`, for spec.logging.access of type Container; default is HAProxy's standard output")
		fs.StringVar(&c.statsAuth, "stats-auth", "", "directory with files statsUsername and statsPassword that the statistics page asks for; default is an open page")
		fs.IntVar(&c.maxConnections, "max-connections", 0, "limit of concurrent connections of clients; default is 20000, less if the file limit is lower")
		fs.IntVar(&c.threads, "threads", 0, "HAProxy's number of threads; default is one for each processor that this process may use, 16 at most")
		fs.BoolVar(&c.supervise, "supervise", true, "start HAProxy and keep it running; false if `router haproxy` does that")
		fs.BoolVar(&c.ipv6, "ipv6", ipv6Works(), "listen on IPv6 addresses, too; default is whether there are any")
		fs.StringVar(&c.canonicalHostname, "canonical-hostname", "", "host name to which users point their own DNS names; default is router-NAME.DOMAIN")
		fs.StringVar(&c.namespace, "namespace", api.OperandNamespace, "namespace of the Lease that makes one replica write route status")
		fs.StringVar(&c.controllersSpace, "ingresscontroller-namespace", api.OperatorNamespace, "namespace of the IngressController")
		fs.DurationVar(&c.shutdownDelay, "shutdown-delay", 5*time.Second, "how long to go on serving after a stop signal, so that load balancers notice")
	}
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			os.Exit(0)
		}
		return nil, errUsage
	}
	return c, c.complete()
}

// layout says where HAProxy's files are.
func (c *config) layout() render.Layout { return render.Layout{Dir: c.workDir, Run: c.runDir} }

func (c *config) complete() error {
	dir, err := filepath.Abs(c.workDir)
	if err != nil {
		return fmt.Errorf("--work-dir: %w", err)
	}
	c.workDir = dir
	if c.runDir != "" {
		if c.runDir, err = filepath.Abs(c.runDir); err != nil {
			return fmt.Errorf("--run-dir: %w", err)
		}
	}
	if c.canonicalHostname == "" && c.domain != "" {
		c.canonicalHostname = "router-" + c.name + "." + c.domain
	}
	if c.threads <= 0 {
		c.threads = machine.Threads(runtime.GOMAXPROCS(0))
	}
	if c.maxConnections == 0 {
		c.maxConnections = min(settings.DefaultMaxConnections, render.MostConnections(machine.Files()))
	}
	return nil
}

// ipv6Works reports whether this pod or host can listen on IPv6 addresses.
func ipv6Works() bool {
	l, err := net.Listen("tcp6", "[::]:0")
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}
