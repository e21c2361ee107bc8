// Command fakeaws runs a fake AWS whose network load balancers really forward,
// for `make demo CLOUD=aws`: the API at one address, DNS beside it, and each
// load balancer at the next free address of a range, which it puts on its own
// network card. It is to be run in a network namespace of its own.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/miekg/dns"

	"github.com/fairlead/fairlead/test/fakeaws"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// machines is the flag of instances: id=address.
type machines map[string]string

func (m machines) String() string { return fmt.Sprint(map[string]string(m)) }

func (m machines) Set(s string) error {
	id, addr, ok := strings.Cut(s, "=")
	if !ok {
		return fmt.Errorf("%q is not id=address", s)
	}
	m[id] = addr
	return nil
}

func run(ctx context.Context) error {
	listen := flag.String("listen", "", "`address` of the API (port 4566) and of DNS (port 53)")
	first := flag.String("balancers", "", "first `address` of load balancers")
	zone := flag.String("zone", "", "`name` of a Route 53 zone to have, with the id Z1")
	instances := machines{}
	flag.Var(instances, "instance", "`id=address` of a machine; may be repeated")
	flag.Parse()
	cloud := fakeaws.New(fakeaws.Options{Delays: fakeaws.Delays{Activate: 5 * time.Second, Initial: time.Second, Drain: 5 * time.Second, Interfaces: 5 * time.Second}})
	cloud.Zones3()
	nodes := cloud.AddSecurityGroup("nodes", map[string]string{"kubernetes.io/cluster/demo": "owned"})
	for id, addr := range instances {
		cloud.AddInstance(id, "subnet-a", addr, nodes)
	}
	if *zone != "" {
		cloud.AddZone("Z1", strings.TrimSuffix(*zone, ".")+".", false, nil)
	}
	start, err := netip.ParseAddr(*first)
	if err != nil {
		return fmt.Errorf("--balancers: %w", err)
	}
	a := &addresses{next: start, taken: map[string]netip.Addr{}}
	forwarder := &fakeaws.Forwarder{Cloud: cloud, Address: a.give, Log: log.Printf}
	go forwarder.Run(ctx)
	names := &dns.Server{Addr: *listen + ":53", Net: "udp", Handler: &fakeaws.Names{Cloud: cloud, Address: a.of}}
	go func() {
		if err := names.ListenAndServe(); err != nil {
			log.Printf("DNS: %v", err)
		}
	}()
	mux := http.NewServeMux()
	mux.Handle("/", cloud)
	mux.HandleFunc("GET /journal", func(w http.ResponseWriter, _ *http.Request) {
		for _, c := range cloud.Since(0) {
			fmt.Fprintln(w, c)
		}
	})
	mux.HandleFunc("GET /balancers", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"balancers": cloud.Balancers(), "groups": cloud.Groups(), "addresses": a.all(), "securityGroups": cloud.SecurityGroups(), "records": cloud.Records("Z1"),
		}) // who asks may be gone
	})
	server := &http.Server{Addr: *listen + ":4566", Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = names.Shutdown() // the end is near anyway
		_ = server.Close()
	}()
	log.Printf("fake AWS on %s", server.Addr)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// addresses gives every load balancer an address.
type addresses struct {
	mu    sync.Mutex
	next  netip.Addr
	taken map[string]netip.Addr
}

func (a *addresses) give(ctx context.Context, name string) (netip.Addr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if addr, ok := a.taken[name]; ok {
		return addr, nil
	}
	addr := a.next
	if out, err := exec.CommandContext(ctx, "ip", "addr", "replace", addr.String()+"/24", "dev", "eth0").CombinedOutput(); err != nil {
		return addr, fmt.Errorf("take the address %s: %w: %s", addr, err, out)
	}
	a.next, a.taken[name] = addr.Next(), addr
	return addr, nil
}

func (a *addresses) of(name string) (netip.Addr, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	addr, ok := a.taken[name]
	return addr, ok
}

func (a *addresses) all() map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := map[string]string{}
	for name, addr := range a.taken {
		all[name] = addr.String()
	}
	return all
}
