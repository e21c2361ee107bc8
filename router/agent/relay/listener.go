package relay

import (
	"errors"
	"maps"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"
)

// listener is an open port, with a socket for each family of addresses.
type listener struct {
	port  uint16
	route *route
	fds   []int
}

// socket is one of a listener.
type socket struct {
	*listener

	fd int
}

// replaceListeners opens and closes ports until they are those that are wanted, and ends the
// sessions with pods that are no longer there. A port that cannot be opened is tried again.
func (r *Relay) replaceListeners() {
	for port, l := range r.listeners {
		if r.wanted[port] == nil {
			r.closeListener(l)
		}
	}
	for _, port := range slices.Sorted(maps.Keys(r.wanted)) {
		if l := r.listeners[port]; l != nil {
			l.route = r.wanted[port]
			continue
		}
		if err := r.openListener(port); err != nil {
			r.o.Log.Error("a port for UDP cannot be opened; trying again", "port", port, "err", err)
		}
	}
	r.o.Metrics.ports.Set(float64(len(r.listeners)))
	forbidden := map[netip.AddrPort]bool{}
	for _, s := range r.sessions {
		no, judged := forbidden[s.pod]
		if !judged {
			no = r.o.Check(s.pod.Addr()) != nil
			forbidden[s.pod] = no
		}
		if l := r.listeners[s.port]; no || l == nil || !l.route.has(s.pod) || l.route.namespace != s.namespace {
			r.end(s)
		}
	}
}

func (r *Relay) openListener(port uint16) error {
	l := &listener{port: port, route: r.wanted[port]}
	for _, f := range families() {
		fd, err := openPort(f, port)
		if errors.Is(err, errNoFamily) {
			continue
		}
		if err == nil {
			if err = r.listen(fd); err != nil {
				_ = unix.Close(fd)
			}
		}
		if err != nil {
			r.closeListener(l)
			return err
		}
		l.fds = append(l.fds, fd)
		r.sockets[fd] = &socket{l, fd}
	}
	if len(l.fds) == 0 {
		return errNoFamily
	}
	r.listeners[port] = l
	return nil
}

func (r *Relay) closeListener(l *listener) {
	for _, s := range r.sessions {
		if s.port == l.port {
			r.end(s)
		}
	}
	for _, fd := range l.fds {
		delete(r.sockets, fd)
		_ = unix.Close(fd)
	}
	delete(r.listeners, l.port)
}

// receive takes datagrams of clients.
func (r *Relay) receive(from *socket) {
	for range burst {
		n, control, _, sender, err := unix.Recvmsg(from.fd, r.buffer, r.control, 0)
		if err != nil {
			return // there is none, or an answer could not be delivered
		}
		asked, ok := askedAddress(r.control[:control])
		client := addressOf(sender)
		if !ok || client.Port() == 0 || client.Addr() == asked {
			// An answer would have nowhere to go, or the datagram is one of the relay's own.
			r.o.Metrics.drop(droppedLoop)
			continue
		}
		k := key{port: from.port, client: client, asked: asked}
		s := r.table.byKey[k]
		if s == nil {
			if s = r.begin(from, k, sender); s == nil {
				continue
			}
		} else {
			r.table.asks(s, r.now)
		}
		r.forward(s, r.buffer[:n])
	}
}

// begin begins a session, or returns nil.
func (r *Relay) begin(from *socket, k key, sender unix.Sockaddr) *session {
	refuse := func(reason string) *session {
		r.o.Metrics.drop(reason)
		return nil
	}
	pod, ok := from.route.choose()
	if !ok {
		return refuse(droppedNoPod)
	}
	if r.o.Check(pod.Addr()) != nil {
		return refuse(droppedForbidden)
	}
	old, refused := r.table.room(from.route.namespace, k.client.Addr(), r.now)
	if refused != "" {
		return refuse(refused)
	}
	if old != nil {
		r.o.Metrics.replaced.Inc()
		r.end(old)
	}
	fd, err := dial(pod)
	if err != nil {
		return refuse(droppedFailed)
	}
	if err := r.listen(fd); err != nil {
		_ = unix.Close(fd)
		return refuse(droppedFailed)
	}
	s := &session{key: k, namespace: from.route.namespace, pod: pod, fd: fd, back: newAnswerPath(from.fd, sender, k.asked)}
	r.table.add(s, r.now)
	r.sessions[fd] = s
	r.o.Metrics.sessions.Set(float64(r.table.len()))
	return s
}

// forward sends a datagram to the pod of a session. A pod that does not listen has no session:
// the next datagram chooses again.
func (r *Relay) forward(s *session, datagram []byte) {
	switch err := unix.Send(s.fd, datagram, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL); {
	case err == nil:
		r.o.Metrics.in.Inc()
	case errors.Is(err, unix.ECONNREFUSED):
		r.o.Metrics.drop(droppedRefused)
		r.end(s)
	default:
		r.o.Metrics.drop(droppedFailed)
	}
}

// answers takes datagrams of the pod of a session.
func (r *Relay) answers(s *session) {
	for range burst {
		n, err := unix.Read(s.fd, r.buffer)
		switch {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
			return
		case errors.Is(err, unix.ECONNREFUSED):
			r.o.Metrics.drop(droppedRefused)
			r.end(s)
			return
		case err != nil: // the pod cannot be reached now
			r.o.Metrics.drop(droppedFailed)
			return
		}
		r.table.answers(s, r.now)
		if s.back.send(r.buffer[:n]) != nil {
			r.o.Metrics.drop(droppedFailed)
			continue
		}
		r.o.Metrics.out.Inc()
	}
}
