package deployment

import (
	"strconv"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/effective"
)

// externalBalancerDelay is how long a router that stops serves on where something
// other than our speakers leads clients to it, as OpenShift's router does: load
// balancers of clouds and of others ask for health every few seconds, and
// believe the third answer.
const externalBalancerDelay = "45s"

// routerArgs holds only what a running router cannot read from its own
// IngressController: every change here is a rollout.
func routerArgs(s effective.Spec) []string {
	port := func(p int32) string { return strconv.Itoa(int(p)) }
	args := []string{
		"--name", s.Name,
		"--domain", s.Domain,
		"--canonical-hostname", api.CanonicalHostname(s.Name, s.Domain),
		"--namespace", api.OperandNamespace,
		"--ingresscontroller-namespace", api.OperatorNamespace,
		"--haproxy", haproxyPath,
		"--work-dir", workDir,
		"--run-dir", runDir,
		"--state-dir", stateDir,
		"--supervise=false",
		"--http-port", port(s.Ports.HTTP),
		"--https-port", port(s.Ports.HTTPS),
		"--stats-port", port(s.Ports.Stats),
		"--default-certificate", certificateDir,
		"--stats-auth", statsAuthDir,
		"--client-ca", clientCADir,
		"--error-pages", errorPagesDir,
		"--admitted-settings", admittedDir,
		"--destination-ca", serviceCADir,
	}
	if p := s.ProbePort(); p != s.Ports.Stats {
		args = append(args, "--health-port", port(p))
	}
	args = append(args, s.LogArgs...)
	if s.Logs {
		args = append(args, "--log-socket", logSocket)
	}
	if s.Agent {
		args = append(args, "--agent-dir", agentDir, "--session-keys", sessionKeysDir, "--agent-certificates", agentCertificatesDir)
	}
	if s.Firewall {
		args = append(args, "--firewall-dir", firewallDir)
	}
	if s.Strategy.Type != operatorv1.LoadBalancerServiceStrategyType || s.CloudClass != "" {
		args = append(args, "--shutdown-delay", externalBalancerDelay)
	}
	return args
}
