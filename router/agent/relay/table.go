package relay

import (
	"cmp"
	"container/list"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// Limits are the bounds of sessions.
type Limits struct {
	// All is how many there may be, Namespace of listeners of one namespace, and Source of one
	// source there: an IPv4 address, or the first 64 bits of an IPv6 address.
	All, Namespace, Source int
	// Idle is how long a session may be silent, and Grace how long a brief one cannot be
	// replaced.
	Idle, Grace time.Duration
}

// Defaults of Limits. Each session has a socket, with what it may hold for the relay to read.
const (
	mostSessions   = 8192
	mostOfSpace    = mostSessions / 4
	mostOfSource   = mostOfSpace / 4
	longestSilence = 30 * time.Second
	shortestStay   = 500 * time.Millisecond
)

// completed returns the limits with defaults, as far as the process may have sockets.
func (l Limits) completed() Limits {
	l.All, l.Namespace, l.Source = cmp.Or(l.All, mostSessions), cmp.Or(l.Namespace, mostOfSpace), cmp.Or(l.Source, mostOfSource)
	l.Idle, l.Grace = cmp.Or(l.Idle, longestSilence), cmp.Or(l.Grace, shortestStay)
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil && files.Cur/2 < uint64(l.All) {
		l.All = int(files.Cur / 2)
	}
	return l
}

// key identifies a session: a client may ask several ports, and several addresses of the pod.
type key struct {
	port   uint16
	client netip.AddrPort
	// asked is the pod's address that the client's datagrams come to.
	asked netip.Addr
}

// session is what one client and one pod have.
type session struct {
	key
	namespace string
	pod       netip.AddrPort
	// fd is connected to the pod.
	fd int
	// back is how answers go to the client.
	back answerPath
	// last is when either side has sent something.
	last time.Time
	// answered is set once the pod has sent something, and lasting once the client has after
	// that.
	answered, lasting bool
	// places in the lists of all sessions, and of those that can be replaced.
	inAll, inSpace, inSource *list.Element
}

// source is what a bound is for.
type source struct {
	namespace string
	network   netip.Prefix
}

func sourceOf(namespace string, client netip.Addr) source {
	bits := 64
	if client.Is4() {
		bits = 32
	}
	network, _ := client.Prefix(bits) // such a prefix always exists
	return source{namespace, network}
}

// share is what counts for one bound.
type share struct {
	sessions int
	// brief are those that can be replaced, the longest silent one first.
	brief list.List
}

// table has the sessions. It knows no sockets.
type table struct {
	limits Limits
	byKey  map[key]*session
	// all has the longest silent session first.
	all     list.List
	spaces  map[string]*share
	sources map[source]*share
}

func newTable(l Limits) *table {
	return &table{limits: l, byKey: map[key]*session{}, spaces: map[string]*share{}, sources: map[source]*share{}}
}

func (t *table) len() int { return len(t.byKey) }

// room makes sure that one more session has room: it returns the one to end for it, nil for
// none, or why there is no room.
func (t *table) room(namespace string, client netip.Addr, now time.Time) (old *session, refused string) {
	space, src := t.spaces[namespace], t.sources[sourceOf(namespace, client)]
	var from *share
	switch {
	case src != nil && src.sessions >= t.limits.Source:
		from, refused = src, droppedSource
	case space != nil && space.sessions >= t.limits.Namespace:
		from, refused = space, droppedNamespace
	case len(t.byKey) >= t.limits.All:
		from, refused = space, droppedFull
	default:
		return nil, ""
	}
	if from == nil || from.brief.Len() == 0 {
		return nil, refused
	}
	if old = from.brief.Front().Value.(*session); now.Sub(old.last) < t.limits.Grace {
		return nil, refused
	}
	return old, ""
}

// add takes a session in that has room.
func (t *table) add(s *session, now time.Time) {
	s.last = now
	t.byKey[s.key] = s
	s.inAll = t.all.PushBack(s)
	space, src := t.shares(s)
	space.sessions++
	src.sessions++
	s.inSpace, s.inSource = space.brief.PushBack(s), src.brief.PushBack(s)
}

// shares returns those that a session counts for.
func (t *table) shares(s *session) (space, src *share) {
	if space = t.spaces[s.namespace]; space == nil {
		space = &share{}
		t.spaces[s.namespace] = space
	}
	of := sourceOf(s.namespace, s.client.Addr())
	if src = t.sources[of]; src == nil {
		src = &share{}
		t.sources[of] = src
	}
	return space, src
}

// asks notes a datagram of the client.
func (t *table) asks(s *session, now time.Time) {
	if s.answered && !s.lasting {
		s.lasting = true
		t.unlist(s)
	}
	t.touch(s, now)
}

// answers notes a datagram of the pod.
func (t *table) answers(s *session, now time.Time) {
	s.answered = true
	t.touch(s, now)
}

func (t *table) touch(s *session, now time.Time) {
	s.last = now
	t.all.MoveToBack(s.inAll)
	if s.inSpace != nil {
		space, src := t.shares(s)
		space.brief.MoveToBack(s.inSpace)
		src.brief.MoveToBack(s.inSource)
	}
}

// unlist keeps a session from being replaced.
func (t *table) unlist(s *session) {
	if s.inSpace == nil {
		return
	}
	space, src := t.shares(s)
	space.brief.Remove(s.inSpace)
	src.brief.Remove(s.inSource)
	s.inSpace, s.inSource = nil, nil
}

// silent returns a session that has been silent for too long, or nil.
func (t *table) silent(now time.Time) *session {
	first := t.all.Front()
	if first == nil {
		return nil
	}
	if s := first.Value.(*session); now.Sub(s.last) >= t.limits.Idle {
		return s
	}
	return nil
}

// remove takes a session out.
func (t *table) remove(s *session) {
	t.unlist(s)
	t.all.Remove(s.inAll)
	delete(t.byKey, s.key)
	space, src := t.shares(s)
	space.sessions--
	src.sessions--
	if space.sessions == 0 {
		delete(t.spaces, s.namespace)
	}
	if src.sessions == 0 {
		delete(t.sources, sourceOf(s.namespace, s.client.Addr()))
	}
}
