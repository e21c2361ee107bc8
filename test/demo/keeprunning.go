package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"
)

// keepRunning prints how to reach everything and waits for Ctrl-C.
func (d *demo) keepRunning(ctx context.Context) error {
	if len(d.failed) > 0 {
		d.title(fmt.Sprintf("%d of the acts failed; the cluster stays up for a look", len(d.failed)))
		for _, err := range d.failed {
			d.say("%v", err)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	user, password, _ := d.statsUser(ctx) // empty if the operator made none; the act said so
	pods, _ := d.routerPods(ctx)
	http := d.forward(ctx, "8080", d.product.Address+":80")
	https := d.forward(ctx, "8443", d.product.Address+":443")
	stats := "none"
	if len(pods) > 0 {
		stats = d.forward(ctx, "1936", pods[0]+":1936")
	}

	d.title("It stays up until Ctrl-C")
	d.say("From another terminal, in this folder:")
	d.say("  go run ./test/cluster/cmd/fairlead-cluster kubectl get routes -A")
	d.say("  go run ./test/cluster/cmd/fairlead-cluster exec client %s", d.curl("", "http", "plain.apps.example.com", "/text"))
	d.say("  go run ./test/cluster/cmd/fairlead-cluster stop-node n2        (start-node n2, cut n1, heal n1, status)")
	d.say("Through ports of this machine:")
	d.say("  curl --resolve plain.apps.example.com:%s:127.0.0.1 http://plain.apps.example.com:%s/text", http, http)
	d.say("  curl -k --resolve edge.apps.example.com:%s:127.0.0.1 https://edge.apps.example.com:%s/text", https, https)
	d.say("  HAProxy's stats page: https://127.0.0.1:%s/ as %s with password %s", stats, user, password)
	d.say("Logs of every program: %s", d.cluster.Dir())
	<-ctx.Done()
	return nil
}

// forward passes connections to a loopback port of this machine on to an address of the cluster and returns the port: the
// wanted one, or another if that is taken.
func (d *demo) forward(ctx context.Context, port, target string) string {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:"+port)
	if err != nil {
		if listener, err = config.Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
			return "none"
		}
	}
	dial := d.cluster.Dial("client")
	go func() {
		<-ctx.Done()
		listener.Close()
	}()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go pipe(ctx, conn, dial, target)
		}
	}()
	_, port, _ = net.SplitHostPort(listener.Addr().String())
	return port
}

func pipe(ctx context.Context, near net.Conn, dial func(context.Context, string, string) (net.Conn, error), target string) {
	defer near.Close()
	far, err := dial(ctx, "tcp", target)
	if err != nil {
		return
	}
	defer far.Close()
	var group errgroup.Group
	for _, ends := range [][2]net.Conn{{near, far}, {far, near}} {
		group.Go(func() error {
			_, err := io.Copy(ends[0], ends[1])
			if tcp, ok := ends[0].(*net.TCPConn); ok {
				err = errors.Join(err, tcp.CloseWrite())
			}
			return err
		})
	}
	_ = group.Wait() // either end may leave at any time
}

// diagnose writes what one wants to know after a failure and returns the folder.
func (d *demo) diagnose(ctx context.Context) string {
	d.say("logs of the cluster's programs: %s", d.cluster.SaveLogs())
	dir := filepath.Join(d.root, ".tools", "demo-failure")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err.Error()
	}
	commands := map[string][]string{
		"objects.txt":     {"get", "nodes,pods,services,routes,ingress,ingresscontrollers,ipaddresspools", "-A", "-o", "wide"},
		"routes.yaml":     {"get", "routes,ingresscontrollers", "-A", "-o", "yaml"},
		"events.txt":      {"get", "events", "-A", "--sort-by=.lastTimestamp"},
		"pods.txt":        {"describe", "pods", "-A"},
		"operator.log":    {"-n", "openshift-ingress-operator", "logs", "-l", "name=ingress-operator", "--prefix", "--tail=-1"},
		"router.log":      {"-n", "openshift-ingress", "logs", "-l", "ingresscontroller.operator.openshift.io/deployment-ingresscontroller=default", "--all-containers", "--prefix", "--tail=-1"},
		"speaker.log":     {"-n", "metallb-system", "logs", "-l", "app.kubernetes.io/component=speaker", "--prefix", "--tail=-1"},
		"speaker-old.log": {"-n", "metallb-system", "logs", "-l", "app.kubernetes.io/component=speaker", "--prefix", "--previous", "--tail=-1"},
	}
	for name, args := range commands {
		out, err := d.cluster.Kubectl(ctx, args...)
		if err != nil {
			out += "\n" + err.Error()
		}
		_ = os.WriteFile(filepath.Join(dir, name), []byte(strings.TrimSpace(out)+"\n"), 0o644) // the failure itself matters more
	}
	return dir
}
