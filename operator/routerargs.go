package operator

import (
	"strconv"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/api"
)

// foreignBalancerDelay is how long a router that stops serves on where something
// other than our speakers leads clients to it, as OpenShift's router does: load
// balancers of clouds and of others ask for health every few seconds, and
// believe the third answer.
const foreignBalancerDelay = "45s"

// routerArgs holds only what a running router cannot read from its own
// IngressController: every change here is a rollout.
func routerArgs(s settings) []string {
	port := func(p int32) string { return strconv.Itoa(int(p)) }
	args := []string{
		"--name", s.name,
		"--domain", s.domain,
		"--canonical-hostname", api.CanonicalHostname(s.name, s.domain),
		"--namespace", api.OperandNamespace,
		"--ingresscontroller-namespace", api.OperatorNamespace,
		"--haproxy", haproxyPath,
		"--work-dir", workDir,
		"--run-dir", runDir,
		"--state-dir", stateDir,
		"--supervise=false",
		"--http-port", port(s.ports.http),
		"--https-port", port(s.ports.https),
		"--stats-port", port(s.ports.stats),
		"--default-certificate", certificateDir,
		"--stats-auth", statsAuthDir,
		"--client-ca", clientCADir,
		"--error-pages", errorPagesDir,
		"--admitted-settings", admittedDir,
		"--destination-ca", serviceCADir,
	}
	if p := s.probePort(); p != s.ports.stats {
		args = append(args, "--health-port", port(p))
	}
	if s.logs {
		args = append(args, "--log-socket", logSocket)
	}
	if s.strategy.Type != operatorv1.LoadBalancerServiceStrategyType || s.cloudClass != "" {
		args = append(args, "--shutdown-delay", foreignBalancerDelay)
	}
	return args
}
