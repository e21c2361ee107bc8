package fakeaws

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Forwarder makes the network load balancers of a Cloud real: it listens where
// they have listeners, checks the health of targets as their groups say, and
// passes connections on to those that are healthy. Each load balancer has an
// address of its own.
type Forwarder struct {
	Cloud *Cloud
	// Address returns the address of a load balancer, made ready to listen on.
	Address func(ctx context.Context, name string) (netip.Addr, error)
	// Speed is by how much sooner than configured targets are checked; 0
	// means 1.
	Speed int
	// Log gets a line for what happens.
	Log func(format string, args ...any)

	mu      sync.Mutex
	ports   map[string]*port // by listener: "name:port"
	turn    int
	checked map[string]int // checks in a row, positive if good, by target
}

// port is an open listener.
type port struct {
	listener net.Listener
	route    Listener // as last seen
}

// Run serves until ctx ends.
func (f *Forwarder) Run(ctx context.Context) {
	f.ports, f.checked = map[string]*port{}, map[string]int{}
	if f.Speed == 0 {
		f.Speed = 1
	}
	defer f.closeAll()
	go f.checkAll(ctx)
	for {
		changed := f.Cloud.Changed()
		f.sync(ctx)
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

func (f *Forwarder) closeAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.ports {
		p.listener.Close()
	}
}

// sync opens and closes listeners.
func (f *Forwarder) sync(ctx context.Context) {
	wanted := map[string]bool{}
	for _, b := range f.Cloud.Balancers() {
		if b.Type != "network" {
			continue
		}
		for _, l := range b.Listeners {
			key := b.Name + ":" + strconv.Itoa(l.Port)
			wanted[key] = true
			if err := f.open(ctx, key, b.Name, l); err != nil {
				f.Log("cannot listen for %s: %v", key, err)
			}
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, p := range f.ports {
		if !wanted[key] {
			p.listener.Close()
			delete(f.ports, key)
			f.Log("closed %s", key)
		}
	}
}

func (f *Forwarder) open(ctx context.Context, key, name string, l Listener) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.ports[key]; p != nil {
		p.route = l
		return nil
	}
	addr, err := f.Address(ctx, name)
	if err != nil {
		return err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", netip.AddrPortFrom(addr, uint16(l.Port)).String())
	if err != nil {
		return fmt.Errorf("open port %d of %s: %w", l.Port, name, err)
	}
	p := &port{listener: listener, route: l}
	f.ports[key] = p
	f.Log("listening on %s for %s", listener.Addr(), key)
	go f.accept(ctx, p)
	return nil
}

func (f *Forwarder) accept(ctx context.Context, p *port) {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		go f.serve(ctx, p, conn)
	}
}

// dialTime is how long a target may take to accept.
const dialTime = 3 * time.Second

func (f *Forwarder) serve(ctx context.Context, p *port, client net.Conn) {
	defer client.Close()
	target, group, ok := f.pick(p)
	if !ok {
		return
	}
	server, err := (&net.Dialer{Timeout: dialTime}).DialContext(ctx, "tcp", target)
	if err != nil {
		return
	}
	defer server.Close()
	if group.Attributes["proxy_protocol_v2.enabled"] == "true" {
		if _, err := server.Write(proxyHeader(client.RemoteAddr(), client.LocalAddr())); err != nil {
			return
		}
	}
	done := make(chan struct{}, 2)
	pass := func(to, from net.Conn) {
		_, _ = io.Copy(to, from) // either side may go at any time
		if tcp, ok := to.(*net.TCPConn); ok {
			_ = tcp.CloseWrite() // it may be gone
		}
		done <- struct{}{}
	}
	go pass(server, client)
	go pass(client, server)
	<-done
	<-done
}

// pick chooses a healthy target in turn; if none is, any, as AWS does.
func (f *Forwarder) pick(p *port) (addr string, group Group, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	group = p.route.Group
	f.turn++
	healthy := slices.DeleteFunc(slices.Clone(group.Targets), func(t string) bool { return f.checked[group.Name+" "+t] <= 0 })
	if len(healthy) == 0 {
		healthy = group.Targets
	}
	if len(healthy) == 0 {
		return "", group, false
	}
	host, number, err := net.SplitHostPort(healthy[f.turn%len(healthy)])
	if err != nil {
		return "", group, false
	}
	return net.JoinHostPort(f.Cloud.addressOf(host), number), group, true
}

// addressOf returns the address of a machine, or the address itself.
func (c *Cloud) addressOf(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := c.state.Instances[id]; i != nil {
		return i.IP
	}
	return id
}

// checkAll checks all targets of groups that are in use, again and again.
func (f *Forwarder) checkAll(ctx context.Context) {
	tick := time.NewTicker(10 * time.Second / time.Duration(10*f.Speed))
	defer tick.Stop()
	for {
		var wait sync.WaitGroup
		for _, b := range f.Cloud.Balancers() {
			for _, l := range b.Listeners {
				for _, t := range l.Group.Targets {
					wait.Go(func() { f.check(ctx, l.Group, t) })
				}
			}
		}
		wait.Wait()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// check looks at one target once.
func (f *Forwarder) check(ctx context.Context, g Group, t string) {
	id, number, err := net.SplitHostPort(t)
	if err != nil {
		return
	}
	at := number
	if g.Check.Port != "traffic-port" {
		at = g.Check.Port
	}
	good := probe(ctx, g.Check, net.JoinHostPort(f.Cloud.addressOf(id), at))
	f.mu.Lock()
	key := g.Name + " " + t
	n := f.checked[key]
	switch {
	case good:
		n = max(n, 0) + 1
	default:
		n = min(n, 0) - 1
	}
	f.checked[key] = n
	f.mu.Unlock()
	port, err := strconv.Atoi(number)
	if err == nil && (n == 1 || n == -1) {
		f.Cloud.SetHealth(id, port, good)
		f.Log("%s of %s is %s", t, g.Name, map[bool]string{true: "healthy", false: "unhealthy"}[good])
	}
}

// probeTime is shorter than real timeouts, for tests are impatient.
const probeTime = 2 * time.Second

func probe(ctx context.Context, c Check, addr string) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	if c.Protocol == "TCP" {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err != nil {
			return false
		}
		conn.Close()
		return true
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+c.Path, nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode >= http.StatusOK && response.StatusCode < http.StatusBadRequest
}

// proxyHeader is the PROXY protocol's header, version 2, for TCP over IPv4.
func proxyHeader(from, to net.Addr) []byte {
	header := []byte("\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c")
	source, err := netip.ParseAddrPort(from.String())
	dest, err2 := netip.ParseAddrPort(to.String())
	if err != nil || err2 != nil {
		return []byte("\r\n\r\n\x00\r\nQUIT\n\x20\x00\x00\x00") // LOCAL
	}
	a, b := source.Addr().Unmap().As4(), dest.Addr().Unmap().As4()
	header = append(header, a[:]...)
	header = append(header, b[:]...)
	header = binary.BigEndian.AppendUint16(header, source.Port())
	return binary.BigEndian.AppendUint16(header, dest.Port())
}
