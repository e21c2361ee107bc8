package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/mdlayher/ndp"
	"golang.org/x/net/ipv6"
)

const (
	// advertiseInterval is how often the node advertises to the router its link-local address.
	advertiseInterval = 5 * time.Second
	// routerLifetime is after how long a router that sent nothing is forgotten
	// if it does not say itself how long it stays.
	routerLifetime = 30 * time.Second
	// linkRetry is the pause before an interface that cannot be used is tried again.
	linkRetry = 2 * time.Second
)

// routerFinder finds the one router behind an interface, for sessions without an
// address ("unnumbered"): routers send their link-local address in router
// advertisements (RFC 4861), and learn the node's in the same way. Those of the
// node have a lifetime of 0, so that nobody takes it for a router.
type routerFinder struct {
	link    string
	changed func()
	log     *slog.Logger
	cancel  context.CancelFunc

	mu      sync.Mutex // guards what follows
	self    netip.Addr // of the node on this link
	routers map[netip.Addr]time.Time
	problem string
}

func newRouterFinder(link string, changed func(), log *slog.Logger) *routerFinder {
	ctx, cancel := context.WithCancel(context.Background())
	f := &routerFinder{link: link, changed: changed, log: log, cancel: cancel, routers: map[netip.Addr]time.Time{}}
	go f.run(ctx)
	return f
}

// stop ends the search.
func (f *routerFinder) stop() { f.cancel() }

// endpoints is where a session's ends are.
type endpoints struct {
	// peer has the interface as its zone if it is link-local; self is known only
	// then.
	peer, self netip.Addr
}

// router returns where the router and this node are, or why there is none.
func (f *routerFinder) router(now time.Time) (endpoints, string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var alive []netip.Addr
	for addr, until := range f.routers {
		if now.Before(until) {
			alive = append(alive, addr)
		}
	}
	slices.SortFunc(alive, netip.Addr.Compare)
	switch {
	case len(alive) == 1:
		return endpoints{peer: alive[0].WithZone(f.link), self: f.self}, ""
	case len(alive) > 1:
		return endpoints{}, fmt.Sprintf("%d routers advertise themselves on %s: %v; there must be one", len(alive), f.link, alive)
	case f.problem != "":
		return endpoints{}, f.problem
	default:
		return endpoints{}, fmt.Sprintf("no router advertises itself on %s", f.link)
	}
}

func (f *routerFinder) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := f.listen(ctx)
		if ctx.Err() != nil {
			return
		}
		f.mu.Lock()
		f.problem = err.Error()
		f.mu.Unlock()
		f.changed()
		select {
		case <-ctx.Done():
		case <-time.After(linkRetry):
		}
	}
}

// listen receives from routers until ctx ends or the interface goes.
func (f *routerFinder) listen(ctx context.Context) error {
	link, err := net.InterfaceByName(f.link)
	if err != nil {
		return fmt.Errorf("this node has no interface %q", f.link)
	}
	conn, self, err := ndp.Listen(link, ndp.LinkLocal)
	if err != nil {
		return fmt.Errorf("interface %s has no usable link-local address: %w", f.link, err)
	}
	defer conn.Close()
	filter := &ipv6.ICMPFilter{}
	filter.SetAll(true)
	filter.Accept(ipv6.ICMPTypeRouterAdvertisement)
	filter.Accept(ipv6.ICMPTypeRouterSolicitation)
	err = errors.Join(conn.SetICMPFilter(filter), conn.JoinGroup(netip.IPv6LinkLocalAllNodes()),
		conn.JoinGroup(netip.IPv6LinkLocalAllRouters()), conn.SetControlMessage(ipv6.FlagHopLimit, true))
	if err != nil {
		return fmt.Errorf("listen for routers on %s: %w", f.link, err)
	}
	f.mu.Lock()
	f.problem, f.self = "", self.WithZone("")
	f.mu.Unlock()
	if err := conn.WriteTo(&ndp.RouterSolicitation{}, nil, netip.IPv6LinkLocalAllRouters()); err != nil {
		return fmt.Errorf("ask for routers on %s: %w", f.link, err)
	}
	var next time.Time
	for ctx.Err() == nil {
		if now := time.Now(); now.After(next) {
			next = now.Add(advertiseInterval)
			if err := f.advertise(conn, link); err != nil {
				return err
			}
			f.changed() // a router may have been forgotten
		}
		if err := conn.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
			return fmt.Errorf("listen on %s: %w", f.link, err)
		}
		msg, control, from, err := conn.ReadFrom()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			continue
		case err != nil:
			return fmt.Errorf("listen on %s: %w", f.link, err)
		}
		if control == nil || control.HopLimit != ndp.HopLimit || from.WithZone("") == self.WithZone("") {
			continue // from beyond this link, or our own
		}
		f.receive(msg, from.WithZone(""), &next)
	}
	return ctx.Err()
}

// receive takes a message. To a solicitation, the next word of ours is the answer.
func (f *routerFinder) receive(msg ndp.Message, from netip.Addr, next *time.Time) {
	switch m := msg.(type) {
	case *ndp.RouterSolicitation:
		*next = time.Time{}
	case *ndp.RouterAdvertisement:
		if !from.IsLinkLocalUnicast() {
			return
		}
		life := max(routerLifetime, m.RouterLifetime)
		f.mu.Lock()
		_, known := f.routers[from]
		f.routers[from] = time.Now().Add(life)
		f.mu.Unlock()
		if !known {
			f.log.Info("a router advertises itself", "interface", f.link, "router", from)
			f.changed()
		}
	}
}

// advertise sends the routers on the link the address of this node.
func (f *routerFinder) advertise(conn *ndp.Conn, link *net.Interface) error {
	self := &ndp.RouterAdvertisement{
		Options: []ndp.Option{&ndp.LinkLayerAddress{Direction: ndp.Source, Addr: link.HardwareAddr}},
	}
	if err := conn.WriteTo(self, nil, netip.IPv6LinkLocalAllNodes()); err != nil {
		return fmt.Errorf("advertise this node on %s: %w", f.link, err)
	}
	return nil
}
