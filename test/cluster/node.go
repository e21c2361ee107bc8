package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// pauseImage keeps a pod's namespaces; test/image builds it.
const pauseImage = "fairlead.dev/pause:dev"

// nodeFile returns a path in the node's folder, which survives a power cut. What must not survive is on the node's own
// /run.
func (c *Cluster) nodeFile(node string, parts ...string) string {
	return filepath.Join(append([]string{c.dir, node}, parts...)...)
}

func (c *Cluster) startContainerd(ctx context.Context, node string) error {
	if err := c.prepareNode(node); err != nil {
		return err
	}
	if err := c.spawn(node, "containerd", "containerd", "--config", c.nodeFile(node, "containerd.toml")); err != nil {
		return err
	}
	return poll(ctx, 30*time.Second, "containerd on "+node, func() (bool, error) {
		_, err := c.Exec(ctx, node, "ctr", "version")
		return err == nil, err
	})
}

// startKubelet starts kubelet and kube-proxy.
func (c *Cluster) startKubelet(node string) error {
	err := c.spawnService(node, "kubelet", c.program("kubelet"), "--config="+c.nodeFile(node, "kubelet.yaml"),
		"--kubeconfig="+filepath.Join(c.dir, node+".conf"), "--hostname-override="+node, "--node-ip="+c.layout.nodeAddresses(node),
		"--cert-dir="+c.nodeFile(node, "pki"), "--root-dir="+c.nodeFile(node, "kubelet"))
	if err != nil {
		return err
	}
	// Zero leaves connection tracking's settings alone; only the machine's own namespace may change them.
	return c.spawnService(node, "kube-proxy", c.program("kube-proxy"), "--kubeconfig="+filepath.Join(c.dir, "proxy.conf"),
		"--hostname-override="+node, "--cluster-cidr="+c.layout.podRanges(), "--proxy-mode=nftables", "--nodeport-addresses=primary",
		"--conntrack-max-per-core=0", "--conntrack-min=0",
		"--conntrack-tcp-timeout-established=0s", "--conntrack-tcp-timeout-close-wait=0s")
}

// prepareNode writes the node's configuration and makes its control groups.
func (c *Cluster) prepareNode(node string) error {
	for _, dir := range []string{"containerd", "kubelet", "cni", "pods", "pki", "plugins"} {
		if err := os.MkdirAll(c.nodeFile(node, dir), 0o755); err != nil {
			return fmt.Errorf("prepare %s: %w", node, err)
		}
	}
	plugins, err := cniPlugins()
	if err != nil {
		return err
	}
	files := map[string]string{
		"containerd.toml":     c.containerdConfig(node, plugins),
		"kubelet.yaml":        c.kubeletConfig(node),
		"cni/10-pod.conflist": c.cniConfig(node),
		"resolv.conf":         "",
	}
	for name, text := range files {
		if err := os.WriteFile(c.nodeFile(node, name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("prepare %s: %w", node, err)
		}
	}
	return createCgroup(c.layout.cgroup(node))
}

func cniPlugins() (string, error) {
	for _, dir := range []string{"/usr/lib/cni", "/opt/cni/bin"} {
		if _, err := os.Stat(filepath.Join(dir, "ptp")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("find the CNI plugins: neither /usr/lib/cni nor /opt/cni/bin has them; run `make tools`")
}

func (c *Cluster) containerdConfig(node, plugins string) string {
	return fmt.Sprintf(`version = 2
root = %q
state = "/run/containerd/state"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.internal.v1.tracing", "io.containerd.tracing.processor.v1.otlp"]
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %q
  # Without CAP_SYS_RESOURCE, as in many containers, lowering the score is refused and no pod would start.
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %q
    conf_dir = %q
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = %q
`, c.nodeFile(node, "containerd"), pauseImage, plugins, c.nodeFile(node, "cni"), snapshotter(c.dir))
}

// snapshotter is "native" (copies) where the folder itself lies on an overlay, which takes no second one.
func snapshotter(dir string) string {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err == nil && fs.Type == unix.OVERLAYFS_SUPER_MAGIC {
		return "native"
	}
	return "overlayfs"
}

// kubeletConfig relaxes eviction, because the disk and memory are the whole machine's, not the node's.
func (c *Cluster) kubeletConfig(node string) string {
	return fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupRoot: /%s
enforceNodeAllocatable: []
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: %q}}
authorization: {mode: Webhook}
clusterDomain: cluster.local
clusterDNS: [10.96.0.10]
resolvConf: %q
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
failSwapOn: false
nodeStatusUpdateFrequency: 2s
syncFrequency: 10s
podLogsDir: %q
volumePluginDir: %q
evictionHard: {memory.available: 20Mi, nodefs.available: 1%%, imagefs.available: 1%%, nodefs.inodesFree: 1%%}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
registerNode: true
`, c.layout.cgroup(node), filepath.Join(c.dir, "pki", "ca.crt"), c.nodeFile(node, "resolv.conf"), c.nodeFile(node, "pods"), c.nodeFile(node, "plugins"))
}

// cniConfig uses point-to-point links: on a bridge, answers between pods of one node would bypass the node's address
// translation where the kernel has no br_netfilter.
func (c *Cluster) cniConfig(node string) string {
	ranges, routes := c.layout.podNetworks(node)
	return fmt.Sprintf(`{"cniVersion": "1.0.0", "name": "pod", "plugins": [
  {"type": "ptp", "ipMasq": false, "ipam": {"type": "host-local", "dataDir": "/run/cni",
    "ranges": %s, "routes": %s}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
`, ranges, routes)
}

// Load loads image archives into every running node.
func (c *Cluster) Load(ctx context.Context, archives ...string) error {
	for _, node := range c.layout.nodes() {
		if c.hostState(node).Off {
			continue
		}
		if err := c.load(ctx, node, archives); err != nil {
			return err
		}
	}
	return nil
}

// loadInto loads the archives and, first, the pause image.
func (c *Cluster) loadInto(ctx context.Context, node string, archives []string) error {
	pause := filepath.Join(c.tools, "images", "pause.tar")
	if _, err := os.Stat(pause); err != nil {
		return fmt.Errorf("%s is not there yet: run `make images`", pause)
	}
	all := []string{pause}
	for _, archive := range archives {
		if filepath.Base(archive) != "pause.tar" {
			all = append(all, archive)
		}
	}
	return c.load(ctx, node, all)
}

func (c *Cluster) load(ctx context.Context, node string, archives []string) error {
	for _, archive := range archives {
		path, err := filepath.Abs(archive)
		if err != nil {
			return fmt.Errorf("load %s: %w", archive, err)
		}
		if _, err := c.Exec(ctx, node, "ctr", "--namespace", "k8s.io", "images", "import", path); err != nil {
			return fmt.Errorf("load %s: %w", archive, err)
		}
	}
	return nil
}

// WaitNodes waits until the nodes are Ready, all of them if none is named.
func (c *Cluster) WaitNodes(ctx context.Context, nodes ...string) error {
	if len(nodes) == 0 {
		nodes = c.layout.nodes()
	}
	return c.waitNodes(ctx, nodes, time.Time{})
}

// waitNodes waits until the nodes have said after since that they are ready: Kubernetes believes a dead node for a while.
func (c *Cluster) waitNodes(ctx context.Context, nodes []string, since time.Time) error {
	return poll(ctx, 2*time.Minute, "nodes "+strings.Join(nodes, " ")+" to be ready", func() (bool, error) {
		ready, err := c.readyNodes(ctx, since)
		if err != nil {
			return false, err
		}
		missing := slices.DeleteFunc(slices.Clone(nodes), func(node string) bool { return slices.Contains(ready, node) })
		return len(missing) == 0, fmt.Errorf("%s not ready", strings.Join(missing, " "))
	})
}

// readyNodes returns the names of the nodes that Kubernetes calls Ready and that said so after since.
func (c *Cluster) readyNodes(ctx context.Context, since time.Time) ([]string, error) {
	const condition = `.status.conditions[?(@.type=="Ready")]`
	out, err := c.Kubectl(ctx, "get", "nodes", "-o",
		`jsonpath={range .items[*]}{.metadata.name} {`+condition+`.status} {`+condition+`.lastHeartbeatTime}{"\n"}{end}`)
	if err != nil {
		return nil, err
	}
	var ready []string
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[1] != "True" {
			continue
		}
		heartbeat, err := time.Parse(time.RFC3339, fields[2])
		if err != nil {
			return nil, fmt.Errorf("read the heartbeat of %s: %w", fields[0], err)
		}
		if !heartbeat.Before(since) {
			ready = append(ready, fields[0])
		}
	}
	return ready, nil
}
