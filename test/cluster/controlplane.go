package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	serviceRange = "10.96.0.0/16"
	podRange     = "10.244.0.0/16"
)

// start brings everything up. Nodes load images while the API server starts.
func (c *Cluster) start(ctx context.Context, o Options) error {
	if err := c.checkPrograms(); err != nil {
		return err
	}
	c.progress("hosts %s on %s", strings.Join(c.layout.hosts(), " "), c.layout.lan(0).String()+"/24")
	for _, host := range c.layout.hosts() {
		if err := c.createHost(ctx, host); err != nil {
			return err
		}
		if err := c.boot(host); err != nil {
			return err
		}
	}
	if err := c.writeIdentities(); err != nil {
		return err
	}
	parent := ctx
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.startControlPlane(ctx) })
	for _, node := range c.layout.nodes() {
		group.Go(func() error {
			if err := c.startContainerd(ctx, node); err != nil {
				return err
			}
			return c.loadInto(ctx, node, o.Images)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	c.progress("control plane is ready, containerd runs and has its images")
	for _, node := range c.layout.nodes() {
		if err := c.startKubelet(node); err != nil {
			return err
		}
	}
	if err := c.WaitNodes(parent); err != nil {
		return err
	}
	c.progress("nodes %s are ready", strings.Join(c.layout.nodes(), " "))
	return c.update(func(s *state) { s.Ready = true })
}

func (c *Cluster) checkPrograms() error {
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl"} {
		if _, err := os.Stat(c.program(name)); err != nil {
			return fmt.Errorf("%s is not there yet: run `make tools`", c.program(name))
		}
	}
	for _, name := range []string{"containerd", "ctr", "runc", "nsenter", "unshare", "ip", "nft"} {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("%s is missing on this machine: run `make tools`", name)
		}
	}
	return nil
}

func (c *Cluster) program(name string) string { return filepath.Join(c.tools, "bin", name) }

func (c *Cluster) writeIdentities() error {
	pki, err := newAuthority(filepath.Join(c.dir, "pki"))
	if err != nil {
		return err
	}
	c.pki = pki
	if err := pki.issue(apiServerIdentity(net.ParseIP(c.Address(controlPlane)))); err != nil {
		return err
	}
	identities := []identity{
		{file: "admin", name: "admin", group: "system:masters"},
		{file: "controller-manager", name: "system:kube-controller-manager"},
		{file: "scheduler", name: "system:kube-scheduler"},
		{file: "proxy", name: "system:kube-proxy"},
	}
	for _, node := range c.layout.nodes() {
		identities = append(identities, identity{file: node, name: "system:node:" + node, group: "system:nodes"})
	}
	for _, id := range identities {
		if err := pki.kubeconfig(id, c.layout.server(), c.dir); err != nil {
			return err
		}
	}
	return nil
}

func apiServerIdentity(address net.IP) identity {
	return identity{
		file: "apiserver", name: "kube-apiserver",
		dns:       []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost"},
		addresses: []net.IP{address, net.IPv4(10, 96, 0, 1), net.IPv4(127, 0, 0, 1)},
	}
}

// etcdArguments turn off what guards against power cuts: these data are never wanted again.
func etcdArguments(dir, client, peer string) []string {
	return []string{
		"--data-dir", dir, "--unsafe-no-fsync", "--log-level", "warn",
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default=" + peer,
	}
}

// apiServerArguments are common to the cluster's and the API-only server.
func apiServerArguments(pki, etcd, address, port string) []string {
	file := func(name string) string { return filepath.Join(pki, name) }
	return []string{
		"--etcd-servers=" + etcd, "--bind-address=" + address, "--advertise-address=" + address, "--secure-port=" + port,
		"--tls-cert-file=" + file("apiserver.crt"), "--tls-private-key-file=" + file("apiserver.key"),
		"--client-ca-file=" + file("ca.crt"), "--allow-privileged=true",
		"--service-account-key-file=" + file("sa.pub"), "--service-account-signing-key-file=" + file("sa.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
	}
}

func (c *Cluster) startControlPlane(ctx context.Context) error {
	const client, peer = "http://127.0.0.1:2379", "http://127.0.0.1:2380"
	// The host's own /run is in memory: where a disk stalls for seconds, etcd would too, all nodes would miss their heartbeats,
	// and kube-proxy would refuse connections to pods that live.
	args := append([]string{c.program("etcd")}, etcdArguments("/run/etcd", client, peer)...)
	if err := c.spawn(controlPlane, "etcd", args...); err != nil {
		return err
	}
	if err := c.StartAPIServer(ctx); err != nil {
		return err
	}
	pki := func(name string) string { return filepath.Join(c.dir, "pki", name) }
	conf := func(name string) string { return "--kubeconfig=" + filepath.Join(c.dir, name+".conf") }
	// A node that died is noticed after 10 s instead of Kubernetes' 50 s, to keep tests short.
	err := c.spawn(controlPlane, "kube-controller-manager", c.program("kube-controller-manager"), conf("controller-manager"),
		"--service-account-private-key-file="+pki("sa.key"), "--root-ca-file="+pki("ca.crt"), "--use-service-account-credentials=true",
		"--cluster-signing-cert-file="+pki("ca.crt"), "--cluster-signing-key-file="+pki("ca.key"),
		"--bind-address=127.0.0.1", "--leader-elect=false", "--node-monitor-grace-period=10s", "--node-monitor-period=1s")
	if err != nil {
		return err
	}
	return c.spawn(controlPlane, "kube-scheduler", c.program("kube-scheduler"), conf("scheduler"),
		"--bind-address=127.0.0.1", "--leader-elect=false")
}

// StartAPIServer starts kube-apiserver, also again after KillAPIServer, and waits until it is ready.
func (c *Cluster) StartAPIServer(ctx context.Context) error {
	pki := filepath.Join(c.dir, "pki")
	args := append([]string{c.program("kube-apiserver")}, apiServerArguments(pki, "http://127.0.0.1:2379", c.Address(controlPlane), "6443")...)
	args = append(args, "--service-cluster-ip-range="+c.layout.serviceRanges(), "--authorization-mode=Node,RBAC", "--kubelet-preferred-address-types=InternalIP", "--enable-admission-plugins=NodeRestriction",
		"--kubelet-client-certificate="+filepath.Join(pki, "admin.crt"), "--kubelet-client-key="+filepath.Join(pki, "admin.key"),
		"--default-not-ready-toleration-seconds=30", "--default-unreachable-toleration-seconds=30")
	if err := c.spawn(controlPlane, "kube-apiserver", args...); err != nil {
		return err
	}
	if err := waitReady(ctx, c.layout.server(), pki, c.Dial(controlPlane)); err != nil {
		return fmt.Errorf("%w (log: %s)", err, c.logFile(controlPlane, "kube-apiserver"))
	}
	return nil
}

// KillAPIServer ends kube-apiserver by SIGKILL. Nothing starts it again but StartAPIServer.
func (c *Cluster) KillAPIServer(ctx context.Context) error {
	pids, err := c.processes(controlPlane, "kube-apiserver")
	if err != nil {
		return err
	}
	for _, p := range pids {
		if err := p.kill(ctx); err != nil {
			return err
		}
	}
	return nil
}

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// waitReady waits for an API server's /readyz, asking as the administrator.
func waitReady(ctx context.Context, server, pki string, dial dialer) error {
	cert, err := tls.LoadX509KeyPair(filepath.Join(pki, "admin.crt"), filepath.Join(pki, "admin.key"))
	if err != nil {
		return fmt.Errorf("read the administrator's certificate: %w", err)
	}
	ca, err := os.ReadFile(filepath.Join(pki, "ca.crt"))
	if err != nil {
		return fmt.Errorf("read the cluster's CA: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	client := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{
		DialContext: dial, DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12},
	}}
	return poll(ctx, 3*time.Minute, "kube-apiserver", func() (bool, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/readyz", nil)
		if err != nil {
			return false, err
		}
		answer, err := client.Do(req)
		if err != nil {
			return false, err
		}
		defer answer.Body.Close()
		return answer.StatusCode == http.StatusOK, fmt.Errorf("/readyz answers %s", answer.Status)
	})
}
