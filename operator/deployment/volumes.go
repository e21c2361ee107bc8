package deployment

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/effective"
	"github.com/fairlead/fairlead/operator/pod"
)

// Folders within the router pod.
const (
	haproxyPath    = "/usr/sbin/haproxy"
	routerPath     = "/usr/bin/router"
	firewallPath   = "/usr/bin/router-firewall"
	workDir        = "/var/lib/haproxy"
	runDir         = "/var/run/haproxy"
	stateDir       = "/var/lib/fairlead"
	certificateDir = "/etc/pki/tls/private"
	statsAuthDir   = "/etc/fairlead/stats-auth"
	clientCADir    = "/etc/pki/tls/client-ca"
	errorPagesDir  = "/etc/fairlead/error-pages"
	admittedDir    = "/etc/fairlead/admitted"
	serviceCADir   = "/var/run/configmaps/service-ca"
	agentDir       = "/var/run/fairlead-agent"
	firewallDir    = "/var/run/fairlead-firewall"
	agentStateDir  = "/var/lib/fairlead-agent"
	sessionKeysDir = "/etc/fairlead/session-keys"
	// agentCertificatesDir has the certificates that agents show each other.
	agentCertificatesDir = "/etc/fairlead/agent-certificates"
	logsDir              = "/var/run/fairlead-logs"
	logSocket            = logsDir + "/access.sock"
)

func volumes(s effective.Spec) []corev1.Volume {
	folder := func(volume string, medium corev1.StorageMedium, size int64) corev1.Volume {
		limit := pod.Mebibytes(size)
		return corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: medium, SizeLimit: &limit}}}
	}
	secret := func(volume, name string) corev1.Volume {
		return corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: name, DefaultMode: new(int32(0o400))},
		}}
	}
	// Optional, so that a ConfigMap may come and go without a rollout.
	configMap := func(volume, name string) corev1.Volume {
		return corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: name}, DefaultMode: new(int32(0o400)), Optional: new(true),
		}}}
	}
	list := []corev1.Volume{
		// In memory: it holds private keys, and a start with 10,000 routes writes thousands of small files.
		folder("work", corev1.StorageMediumMemory, s.Memory.Files),
		folder("sockets", corev1.StorageMediumMemory, socketsSize),
		// Apart from what HAProxy sees, because the router believes it. It holds keys, too.
		folder("state", corev1.StorageMediumMemory, s.Memory.State),
		secret("default-certificate", api.CertificateSecretName(s.Name)),
		secret("stats-auth", api.StatsSecretName(s.Name)),
		configMap("client-ca", api.ClientCAConfigMapName(s.Name)),
		configMap("error-pages", api.ErrorPagesConfigMapName(s.Name)),
		configMap("admitted", api.AdmittedConfigMapName(s.Name)),
		configMap("service-ca", api.ServiceCAConfigMap),
		kubeAPIAccess(),
	}
	if s.Agent {
		// The sockets, and apart from all other containers the secrets that the agent decides by.
		list = append(list, folder("agent", corev1.StorageMediumMemory, socketsSize), folder("agent-state", corev1.StorageMediumMemory, agentStateSize))
		keys := secret("session-keys", api.SessionKeysSecretName(s.Name))
		keys.Secret.Optional = new(true) // without them logins are refused, and all else goes on
		certificates := secret("agent-certificates", api.AgentCertificatesSecretName(s.Name))
		certificates.Secret.Optional = new(true) // without them shared limits refuse
		list = append(list, keys, certificates)
	}
	if s.Firewall {
		list = append(list, folder("firewall", corev1.StorageMediumMemory, socketsSize))
	}
	if s.Logs {
		list = append(list, folder("logs", corev1.StorageMediumDefault, logsSize))
	}
	return list
}

// kubeAPIAccess is what Kubernetes mounts by itself where
// automountServiceAccountToken is not false.
func kubeAPIAccess() corev1.Volume {
	return corev1.Volume{Name: "kube-api-access", VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{
			DefaultMode: new(int32(0o400)),
			Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: new(int64(3600))}},
				{ConfigMap: &corev1.ConfigMapProjection{
					LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
					Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
				}},
				{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
					Path:     "namespace",
					FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
				}}}},
			},
		},
	}}
}
