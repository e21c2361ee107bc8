package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// StopNode cuts the node's power: its cable goes dead first, so that nothing says goodbye, then every process ends.
func (c *Cluster) StopNode(ctx context.Context, node string) error {
	if c.layout.number(node) == 0 {
		return fmt.Errorf("stop %q: nodes are %s", node, strings.Join(c.layout.nodes(), " "))
	}
	if c.hostState(node).Off {
		return nil
	}
	if err := c.setLink(ctx, node, "down"); err != nil {
		return err
	}
	if err := c.hostState(node).Init.kill(ctx); err != nil {
		return err
	}
	// The namespace's cable would go with it too, but some time later.
	if err := command(ctx, "ip", "-n", c.layout.netns(controlPlane), "link", "del", port(node)); err != nil {
		return err
	}
	if err := c.deleteNetns(ctx, node); err != nil {
		return err
	}
	if err := removeCgroup(ctx, c.layout.cgroup(node)); err != nil {
		return err
	}
	return c.update(func(s *state) { s.Hosts[node] = host{Off: true} })
}

// StartNode boots a stopped node with the disk that it had, and waits until Kubernetes calls it ready.
func (c *Cluster) StartNode(ctx context.Context, node string) error {
	if !c.hostState(node).Off {
		return fmt.Errorf("start %q: it is not a stopped node", node)
	}
	booted := time.Now().Truncate(time.Second).Add(time.Second) // heartbeats are in whole seconds, the last may be of this one
	if err := c.createHost(ctx, node); err != nil {
		return err
	}
	if err := c.boot(node); err != nil {
		return err
	}
	if err := c.startContainerd(ctx, node); err != nil {
		return err
	}
	if err := c.startKubelet(node); err != nil {
		return err
	}
	return c.waitNodes(ctx, []string{node}, booted)
}

// Cut takes the host's LAN link down. The host itself does not see it: its end of the cable stays up.
func (c *Cluster) Cut(ctx context.Context, host string) error { return c.setLink(ctx, host, "down") }

// Heal takes the host's LAN link up again.
func (c *Cluster) Heal(ctx context.Context, host string) error { return c.setLink(ctx, host, "up") }

// PodPID returns the process id, as this machine sees it, of the first process of a pod's container, and its node.
func (c *Cluster) PodPID(ctx context.Context, namespace, pod, container string) (pid int, node string, err error) {
	jsonpath := `jsonpath={.spec.nodeName}{"\n"}{range .status.containerStatuses[*]}{.name} {.containerID}{"\n"}{end}` +
		`{range .status.initContainerStatuses[*]}{.name} {.containerID}{"\n"}{end}`
	out, err := c.Kubectl(ctx, "-n", namespace, "get", "pod", pod, "-o", jsonpath)
	if err != nil {
		return 0, "", err
	}
	lines := strings.Split(out, "\n")
	node = lines[0]
	for _, line := range lines[1:] {
		name, id, _ := strings.Cut(line, " ")
		if name != container {
			continue
		}
		id = strings.TrimPrefix(strings.TrimSpace(id), "containerd://")
		pid, err := c.taskPID(node, id)
		return pid, node, err
	}
	return 0, "", fmt.Errorf("find the process of %s/%s: it has no container %q", namespace, pod, container)
}

// taskPID reads the pid that runc noted, which counts in the node's process namespace, and translates it.
func (c *Cluster) taskPID(node, id string) (int, error) {
	root := fmt.Sprintf("/proc/%d/root", c.hostState(node).Init.PID)
	text, err := os.ReadFile(filepath.Join(root, "run/containerd/state/io.containerd.runtime.v2.task/k8s.io", id, "init.pid"))
	if err != nil {
		return 0, fmt.Errorf("find the process of container %s on %s: %w", id, node, err)
	}
	inner, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("find the process of container %s on %s: %w", id, node, err)
	}
	for _, p := range c.members(node) {
		if p.inner == inner {
			return p.pid, nil
		}
	}
	return 0, fmt.Errorf("find the process of container %s on %s: pid %d is gone", id, node, inner)
}

// KillContainer sends SIGKILL to a container's process: its first one if program is empty, else every process of the
// container whose program has that name.
func (c *Cluster) KillContainer(ctx context.Context, namespace, pod, container, program string) error {
	var pids []int
	var err error
	if program == "" {
		pids = make([]int, 1)
		pids[0], _, err = c.PodPID(ctx, namespace, pod, container)
	} else {
		pids, err = c.Processes(ctx, namespace, pod, container, program)
	}
	if err != nil {
		return err
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("kill %s in %s/%s: %w", program, namespace, pod, err)
		}
	}
	return nil
}

// Processes returns the ids, as this machine sees them, of every process of a pod's container whose program has that name.
func (c *Cluster) Processes(ctx context.Context, namespace, pod, container, program string) ([]int, error) {
	pid, node, err := c.PodPID(ctx, namespace, pod, container)
	if err != nil {
		return nil, err
	}
	first, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", pid))
	if err != nil {
		return nil, fmt.Errorf("find %s in %s/%s: %w", program, namespace, pod, err)
	}
	var pids []int
	for _, p := range c.members(node) {
		mnt, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", p.pid))
		if err == nil && mnt == first && p.program == program {
			pids = append(pids, p.pid)
		}
	}
	if len(pids) == 0 {
		return nil, fmt.Errorf("find %s in %s/%s: no such process", program, namespace, pod)
	}
	return pids, nil
}

// member is a process of a host: pid as this machine sees it, inner as the host's own process namespace does.
type member struct {
	pid, inner int
	program    string
}

// members lists the processes in the host's process namespace.
func (c *Cluster) members(host string) []member {
	first := c.hostState(host).Init
	want, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", first.PID))
	if err != nil || !first.running() {
		return nil
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var all []member
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		// A pod's processes may be in a namespace of their own below the node's; their second number is the node's.
		levels, program := statusOf(pid)
		depth := slices.Index(levels, pid)
		if ns, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid)); err == nil && depth >= 0 && len(levels) > depth+1 {
			if ns == want || c.below(pid, first.PID) {
				all = append(all, member{pid: pid, inner: levels[depth+1], program: program})
			}
		}
	}
	return all
}

// below says whether the process descends from the first one.
func (c *Cluster) below(pid, first int) bool {
	for range 64 {
		if pid == first {
			return true
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return false
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if pid, err = strconv.Atoi(fields[1]); err != nil || pid <= 1 {
			return false
		}
	}
	return false
}

// statusOf reads the process's numbers from the outermost process namespace inwards, and its program's name.
func statusOf(pid int) (levels []int, program string) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return nil, ""
	}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		switch key {
		case "Name":
			program = strings.TrimSpace(value)
		case "NSpid":
			for field := range strings.FieldsSeq(value) {
				if n, err := strconv.Atoi(field); err == nil {
					levels = append(levels, n)
				}
			}
		}
	}
	return levels, program
}

// Describe says in a few words what the host does.
func (c *Cluster) Describe(host string) string {
	switch h := c.hostState(host); {
	case h.Off:
		return "stopped"
	case !h.Init.running():
		return "not running"
	default:
		return fmt.Sprintf("runs, %d processes", len(c.members(host)))
	}
}

// processes returns the host's processes whose program has the name (its first 15 letters, as the kernel keeps them).
func (c *Cluster) processes(host, name string) ([]process, error) {
	var found []process
	for _, m := range c.members(host) {
		if m.program == name[:min(15, len(name))] {
			p, err := identify(m.pid)
			if err != nil {
				continue // ended meanwhile
			}
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("find %s on %s: it does not run", name, host)
	}
	return found, nil
}

// Down ends and removes everything of the cluster, whatever state it is in.
func (c *Cluster) Down(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
	defer cancel()
	var failed []error
	hosts := c.layout.hosts()
	slices.Reverse(hosts)
	for _, host := range hosts {
		failed = append(failed, c.hostState(host).Init.kill(ctx), c.deleteNetns(ctx, host))
	}
	for _, node := range c.layout.nodes() {
		failed = append(failed, removeCgroup(ctx, c.layout.cgroup(node)))
	}
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("stop cluster %s: %w", c.layout.Name, err)
	}
	if err := os.RemoveAll(c.dir); err != nil {
		return fmt.Errorf("stop cluster %s: %w", c.layout.Name, err)
	}
	c.progress("down")
	return nil
}
