package console

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
)

const (
	// attemptsEach is how many log-ins an address has in a minute, addressesKept how many
	// addresses are remembered, and attemptsAll how many log-ins all have in a minute.
	attemptsEach, addressesKept, attemptsAll = 5, 4096, 300
	attemptsTime                             = time.Minute
)

// attempts counts log-ins by address. Tokens cannot be guessed: the bound is for the API server,
// which is asked about each.
type attempts struct {
	now func() time.Time

	mu   sync.Mutex
	from map[netip.Prefix][]time.Time
	all  []time.Time
}

// take notes a log-in, and reports whether the address, and all of them, may have it.
func (a *attempts) take(from netip.Prefix) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	since := now.Add(-attemptsTime)
	if a.all = after(a.all, since); len(a.all) >= attemptsAll {
		return false
	}
	own := after(a.from[from], since)
	if len(own) >= attemptsEach {
		return false
	}
	if _, known := a.from[from]; !known && len(a.from) >= addressesKept {
		a.forget(since)
	}
	a.from[from], a.all = append(own, now), append(a.all, now)
	return true
}

// forget drops addresses without a recent log-in. There are fewer of the others than
// attemptsAll, so that is always enough.
func (a *attempts) forget(since time.Time) {
	for address, times := range a.from {
		if len(after(times, since)) == 0 {
			delete(a.from, address)
		}
	}
}

// after returns the times after another one; all are in order.
func after(times []time.Time, since time.Time) []time.Time {
	for len(times) > 0 && !times[0].After(since) {
		times = times[1:]
	}
	return times
}

// clientOf is the address of a client, or its network of 64 bits: a client has any number of
// addresses in that. Behind a router it is the last one that X-Forwarded-For names, which the
// router wrote.
func clientOf(r *http.Request, behindRouter bool) netip.Prefix {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	if all := r.Header.Values("X-Forwarded-For"); behindRouter && len(all) > 0 {
		last := all[len(all)-1]
		host = strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Prefix{} // all of which count together
	}
	address = address.Unmap().WithZone("")
	bits := address.BitLen()
	if address.Is6() {
		bits = 64
	}
	prefix, err := address.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return prefix
}

const (
	// requestsOfUser and streamsOfUser are how many requests and streams of one user are
	// answered at the same time, and requestsOfAll and streamsOfAll how many of all users.
	requestsOfUser, streamsOfUser, requestsOfAll, streamsOfAll = 6, 4, 64, 128
)

// busy counts requests that are being answered.
type busy struct {
	mu       sync.Mutex
	all      int
	requests map[string]int
	streams  map[string]int
}

// enter counts a request of a user until leave is called, unless there are too many.
func (b *busy) enter(user string, stream bool) (leave func(), ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	of, most := b.requests, requestsOfUser
	if stream {
		of, most = b.streams, streamsOfUser
	}
	if of[user] >= most || !stream && b.all >= requestsOfAll {
		return nil, false
	}
	of[user]++
	if !stream {
		b.all++
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if of[user]--; of[user] == 0 {
			delete(of, user)
		}
		if !stream {
			b.all--
		}
	}, true
}
