// Command fairlead-cluster runs a Kubernetes cluster in network namespaces of this machine. Run it without arguments for help.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/fairlead/fairlead/test/cluster"
	"github.com/fairlead/fairlead/test/tools/toolset"
)

const usage = `Usage: fairlead-cluster [--name NAME] COMMAND

  up [--nodes N] [--image FILE]…   start a cluster and load images (default: all of .tools/images)
     [--dual-stack]                with IPv6 beside IPv4
  down                             end and remove all of it
  status                           say what runs
  kubectl ARGS…                    kubectl as administrator
  exec HOST COMMAND…               run a command on a host: cp, n1, n2, …, client, tor
  stop-node NODE                   cut a node's power
  start-node NODE                  boot it again
  cut HOST, heal HOST              take a host's LAN link down, up
  kill-apiserver, start-apiserver  end kube-apiserver by SIGKILL, start it again
  load FILE…                       load image archives into all nodes
  addresses                        print the LAN addresses free for load balancers
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	var exit exitError
	switch {
	case errors.As(err, &exit):
		os.Exit(exit.code)
	case err != nil:
		fmt.Fprintln(os.Stderr, "fairlead-cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("fairlead-cluster", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	name := flags.String("name", cluster.DefaultName, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		flags.Usage()
		return errors.New("which command?")
	}
	command, rest := flags.Arg(0), flags.Args()[1:]
	if command == "up" {
		return up(ctx, *name, rest)
	}
	c, err := cluster.Open(*name)
	if errors.Is(err, os.ErrNotExist) {
		if command == "down" {
			fmt.Println("no cluster", *name)
			return nil
		}
		return fmt.Errorf("there is no cluster %q: `fairlead-cluster up` starts it", *name)
	}
	if err != nil {
		return err
	}
	return operate(ctx, c, command, rest)
}

func up(ctx context.Context, name string, args []string) error {
	flags := flag.NewFlagSet("up", flag.ContinueOnError)
	nodes := flags.Int("nodes", 2, "number of nodes")
	dualStack := flags.Bool("dual-stack", false, "with IPv6 beside IPv4")
	flags.StringVar(&name, "name", name, "name of the cluster")
	var images []string
	flags.Func("image", "image archive to load (again and again)", func(file string) error {
		images = append(images, file)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	if images == nil {
		dir, err := toolset.Dir()
		if err != nil {
			return err
		}
		if images, err = filepath.Glob(filepath.Join(dir, "images", "*.tar")); err != nil {
			return fmt.Errorf("list images: %w", err)
		}
	}
	_, err := cluster.Up(ctx, cluster.Options{Name: name, Nodes: *nodes, Images: images, Log: os.Stderr, DualStack: *dualStack})
	return err
}

// operate runs a command on a cluster that exists.
func operate(ctx context.Context, c *cluster.Cluster, command string, args []string) error {
	need := func(n int, what string) error {
		if len(args) < n {
			return fmt.Errorf("%s: %s is missing", command, what)
		}
		return nil
	}
	onHost := map[string]func(context.Context, string) error{
		"stop-node": c.StopNode, "start-node": c.StartNode, "cut": c.Cut, "heal": c.Heal,
	}
	if do, ok := onHost[command]; ok {
		if err := need(1, "the host"); err != nil {
			return err
		}
		return do(ctx, args[0])
	}
	switch command {
	case "down":
		return c.Down(ctx)
	case "status":
		return status(ctx, c)
	case "kubectl":
		return attach(c.KubectlCommand(context.WithoutCancel(ctx), args...))
	case "exec":
		if err := need(2, "the host or the command"); err != nil {
			return err
		}
		cmd, err := c.Attached(args[0], args[1:]...)
		if err != nil {
			return err
		}
		return attach(cmd)
	case "kill-apiserver":
		return c.KillAPIServer(ctx)
	case "start-apiserver":
		return c.StartAPIServer(ctx)
	case "load":
		return c.Load(ctx, args...)
	case "addresses":
		fmt.Println(c.AddressRange())
		return nil
	default:
		return fmt.Errorf("unknown command %q\n%s", command, usage)
	}
}

// attach runs the command on this process's terminal; Ctrl-C reaches both.
func attach(cmd *exec.Cmd) error {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if exit := cmd.ProcessState; err != nil && exit != nil {
		return exitError{code: max(1, exit.ExitCode())}
	}
	return err
}

// exitError is the end of an attached command that has told its reason itself.
type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", e.code) }

func status(ctx context.Context, c *cluster.Cluster) error {
	fmt.Printf("cluster %s in %s, addresses for load balancers %s\n", c.Name(), c.Dir(), c.AddressRange())
	for _, host := range c.Hosts() {
		fmt.Printf("  %-7s %-15s %s\n", host, c.Address(host), c.Describe(host))
	}
	return attach(c.KubectlCommand(ctx, "get", "nodes,pods", "-A", "-o", "wide"))
}
