// Package replicas says which routers count shared limits together: the pods of the
// IngressController, with the certificates of the Secret that the operator makes, as it
// is mounted into the router's pod.
package replicas

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/agent/snapshot"
)

// lookEvery is how often the folder is read again.
const lookEvery = 5 * time.Second

// Source is where the replicas are known from. An empty Dir has none.
type Source struct {
	Dir string
	// Pods returns the addresses of the routers.
	Pods func() []netip.Addr
	Log  *slog.Logger

	mu           sync.Mutex
	read         time.Time
	certificates [][]byte
	own          []netip.Addr
	complaint    string
}

// Replicas returns the routers that count together, or nil if this one is not among them
// or there are no certificates yet.
func (s *Source) Replicas() *snapshot.Replicas {
	if s.Dir == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.read.IsZero() || time.Since(s.read) >= lookEvery {
		s.look()
	}
	members := s.Pods()
	at := slices.IndexFunc(members, func(a netip.Addr) bool { return slices.Contains(s.own, a) })
	if at < 0 || len(s.certificates) == 0 {
		return nil
	}
	return &snapshot.Replicas{Self: members[at], Members: members, Port: api.AgentPort, Certificates: s.certificates}
}

// look reads what does not come from the API server.
func (s *Source) look() {
	s.read = time.Now()
	certificates, err := readAll(s.Dir)
	text := ""
	if err == nil {
		s.certificates = certificates
	} else {
		text = err.Error()
	}
	if s.complaint != text {
		s.complaint = text
		if err != nil {
			s.Log.Error("cannot read the certificates for other routers; limits of scope Shared refuse requests if there are none", "dir", s.Dir, "err", err)
		}
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return
	}
	s.own = nil
	for _, a := range addresses {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			s.own = append(s.own, p.Addr().Unmap())
		}
	}
}

// readAll reads the files in the order of their names, which is that of their age.
func readAll(dir string) (all [][]byte, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the certificates of agents: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") { // links of the kubelet
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("read the certificates of agents: %w", err)
		}
		all = append(all, content)
	}
	return all, nil
}
