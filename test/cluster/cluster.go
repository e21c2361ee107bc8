// Package cluster runs a real multi-node Kubernetes on one Linux machine, for tests and the demo: etcd, kube-apiserver,
// kube-controller-manager and kube-scheduler on the host cp, and containerd, kubelet and kube-proxy on the nodes n1, n2, …
// Hosts are network namespaces joined by a bridge; client stands for a user's machine and tor for a router.
//
//	client ─┐            ┌─ n1  pods 10.244.1.0/24
//	tor ────┤ LAN (/24) ─┼─ n2  pods 10.244.2.0/24
//	cp ─────┘            └─ …
//
// Every host has its own network, process and mount namespaces and a first process, whose end is the end of all that runs
// there. Nothing is installed or visible outside of them. It needs root; StartAPIServer, for tests of the API alone, does not.
package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/fairlead/fairlead/test/tools/toolset"
)

// DefaultName is the name of the cluster that the demo and the command use.
const DefaultName = "fairlead"

// DefaultFolder holds the folders of all clusters.
const DefaultFolder = "/var/lib/fairlead-cluster"

const controlPlane = "cp"

// Options describes a cluster to start.
type Options struct {
	Name   string    // of up to 12 lower-case letters and digits; DefaultName if empty
	Nodes  int       // 2 if zero
	Images []string  // image archives to load into every node, besides the pause image
	Log    io.Writer // progress lines; none if nil

	DualStack bool // hosts, pods and Services have IPv6 addresses beside those of IPv4
}

// Cluster is a cluster that runs, or that the folder of a crashed one is left of. Its methods may be called concurrently.
type Cluster struct {
	layout  layout
	dir     string
	tools   string
	pki     *authority
	out     io.Writer
	started time.Time

	mu    sync.Mutex // guards state and its file
	state state
}

// state is what Down and a later Open must know; it is on disk before anything of it exists.
type state struct {
	Layout layout          `json:"layout"`
	Tools  string          `json:"tools"`
	Ready  bool            `json:"ready"`
	Hosts  map[string]host `json:"hosts"`
}

type host struct {
	Init process `json:"init"` // first process of the host
	Off  bool    `json:"off"`  // stopped by StopNode
}

// Up starts a cluster and returns when every node is ready. What an earlier cluster of the name left is removed first.
// On an error, what was started is removed again, but logs stay in the folder that the error names.
func Up(ctx context.Context, o Options) (*Cluster, error) {
	if o.Name == "" {
		o.Name = DefaultName
	}
	if o.Nodes == 0 {
		o.Nodes = 2
	}
	if err := (layout{Name: o.Name, Nodes: o.Nodes}).validate(); err != nil {
		return nil, err
	}
	if os.Geteuid() != 0 {
		return nil, errors.New("start a cluster: network namespaces and kubelets need root")
	}
	if old, err := Open(o.Name); err == nil {
		if err := old.Down(ctx); err != nil {
			return nil, fmt.Errorf("remove the earlier cluster: %w", err)
		}
	}
	c, err := create(o)
	if err != nil {
		return nil, err
	}
	if err := c.start(ctx, o); err != nil {
		kept := c.SaveLogs()
		return nil, errors.Join(fmt.Errorf("start the cluster (logs in %s): %w", kept, err), c.Down(ctx))
	}
	return c, nil
}

// create takes a free slot and writes the state file, under a lock that all clusters of the machine share.
func create(o Options) (*Cluster, error) {
	tools, err := toolset.Dir()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(DefaultFolder, 0o755); err != nil {
		return nil, fmt.Errorf("make the cluster folder: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(DefaultFolder, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the cluster folder: %w", err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return nil, fmt.Errorf("lock the cluster folder: %w", err)
	}
	slot, err := freeSlot()
	if err != nil {
		return nil, err
	}
	l := layout{Name: o.Name, Slot: slot, Nodes: o.Nodes, DualStack: o.DualStack}
	c := &Cluster{
		layout: l, dir: filepath.Join(DefaultFolder, o.Name), tools: tools, out: o.Log, started: time.Now(),
		state: state{Layout: l, Tools: tools, Hosts: map[string]host{}},
	}
	if err := os.Mkdir(c.dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the cluster's folder: %w", err)
	}
	return c, c.save()
}

func freeSlot() (int, error) {
	taken := map[int]bool{}
	folders, err := os.ReadDir(DefaultFolder)
	if err != nil {
		return 0, fmt.Errorf("list clusters: %w", err)
	}
	for _, folder := range folders {
		if c, err := Open(folder.Name()); err == nil {
			taken[c.layout.Slot] = true
		}
	}
	for slot := range maxSlots {
		if !taken[slot] {
			return slot, nil
		}
	}
	return 0, fmt.Errorf("%d clusters exist: no address range is left", maxSlots)
}

// Open returns the cluster of the name, started by this or another process.
func Open(name string) (*Cluster, error) {
	dir := filepath.Join(DefaultFolder, name)
	text, err := os.ReadFile(filepath.Join(dir, "state.json"))
	if err != nil {
		return nil, fmt.Errorf("open cluster %s: %w", name, err)
	}
	c := &Cluster{dir: dir, started: time.Now()}
	if err := json.Unmarshal(text, &c.state); err != nil {
		return nil, fmt.Errorf("open cluster %s: %w", name, err)
	}
	c.layout, c.tools = c.state.Layout, c.state.Tools
	return c, nil
}

// save writes the state file in one step, so that a crash leaves the old or the new one.
func (c *Cluster) save() error {
	text, err := json.MarshalIndent(c.state, "", "  ")
	if err != nil {
		return fmt.Errorf("save the cluster's state: %w", err)
	}
	file := filepath.Join(c.dir, "state.json")
	if err := os.WriteFile(file+".new", text, 0o600); err != nil {
		return fmt.Errorf("save the cluster's state: %w", err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		return fmt.Errorf("save the cluster's state: %w", err)
	}
	return nil
}

// update changes the state and saves it.
func (c *Cluster) update(change func(*state)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.state)
	return c.save()
}

func (c *Cluster) recordInit(name string, first process) error {
	return c.update(func(s *state) { s.Hosts[name] = host{Init: first} })
}

func (c *Cluster) hostState(name string) host {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.Hosts[name]
}

func (c *Cluster) progress(format string, args ...any) {
	if c.out != nil {
		fmt.Fprintf(c.out, "[%6.1fs] cluster %s: %s\n", time.Since(c.started).Seconds(), c.layout.Name, fmt.Sprintf(format, args...))
	}
}

// Name returns the cluster's name.
func (c *Cluster) Name() string { return c.layout.Name }

// Nodes returns the names of the nodes, n1 and so on, which are also the host names.
func (c *Cluster) Nodes() []string { return c.layout.nodes() }

// Hosts returns the names of all hosts.
func (c *Cluster) Hosts() []string { return c.layout.hosts() }

// Address returns the LAN address of a host.
func (c *Cluster) Address(host string) string { return c.layout.address(host).String() }

// AddressRange returns the LAN addresses that are free for load balancers, as FIRST-LAST.
func (c *Cluster) AddressRange() string { return c.layout.addressRange() }

// Dir returns the cluster's folder, with the logs of all its programs as HOST-PROGRAM.log.
func (c *Cluster) Dir() string { return c.dir }

// Kubeconfig returns the path of the administrator's kubeconfig. The server that it names is reachable from the
// cluster's hosts only: use Kubectl, RESTConfig or Dial.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.dir, "admin.conf") }

// SaveLogs copies the logs out of the folder that Down removes, and returns where they are.
func (c *Cluster) SaveLogs() string {
	kept := filepath.Join(os.TempDir(), "fairlead-cluster-"+c.layout.Name+"-logs")
	logs, err := filepath.Glob(filepath.Join(c.dir, "*.log"))
	if err == nil {
		err = errors.Join(os.RemoveAll(kept), os.MkdirAll(kept, 0o755))
	}
	for _, log := range logs {
		text, readErr := os.ReadFile(log)
		err = errors.Join(err, readErr, os.WriteFile(filepath.Join(kept, filepath.Base(log)), text, 0o644))
	}
	if err != nil {
		return "nowhere: " + err.Error()
	}
	return kept
}
