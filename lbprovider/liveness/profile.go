package liveness

import (
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/memberlist"
)

// Profile is a set of times that fits a kind of network.
type Profile string

const (
	// Fast is for nodes on one network: a dead speaker is noticed after about 1 to
	// 1.6 seconds. It is the default, also for the empty Profile.
	Fast Profile = "fast"
	// LAN has memberlist's usual times, for networks that lose packets, and nodes
	// that are often too busy to answer within an eighth of a second: about 5 to 7
	// seconds.
	LAN Profile = "lan"
	// WAN is for nodes at distant places: about half a minute.
	WAN Profile = "wan"
)

// UnmarshalText reads a Profile, for flags.
func (p *Profile) UnmarshalText(text []byte) error {
	all := []Profile{Fast, LAN, WAN}
	if !slices.Contains(all, Profile(text)) {
		return fmt.Errorf("unknown profile %q; use one of %q", text, all)
	}
	*p = Profile(text)
	return nil
}

// MarshalText writes a Profile.
func (p Profile) MarshalText() ([]byte, error) { return []byte(p), nil }

// config has the times of the profile. A member is probed every ProbeInterval,
// suspected after ProbeTimeout, and dead after SuspicionMult intervals; where
// few confirm it, after up to SuspicionMaxTimeoutMult times as long.
func (p Profile) config() *memberlist.Config {
	switch p {
	case LAN:
		cfg := memberlist.DefaultLANConfig()
		cfg.SuspicionMaxTimeoutMult = 2
		return cfg
	case WAN:
		cfg := memberlist.DefaultWANConfig()
		cfg.SuspicionMaxTimeoutMult = 2
		return cfg
	default:
		cfg := memberlist.DefaultLANConfig()
		cfg.ProbeInterval, cfg.ProbeTimeout = 250*time.Millisecond, 125*time.Millisecond
		cfg.SuspicionMult, cfg.SuspicionMaxTimeoutMult = 3, 2
		cfg.GossipInterval = 100 * time.Millisecond
		cfg.TCPTimeout = time.Second
		cfg.PushPullInterval = 15 * time.Second
		return cfg
	}
}
