package engine

import (
	"fmt"
	"log/slog"
	"net/netip"
	"syscall"
	"testing"

	"github.com/osrg/gobgp/v3/pkg/log"
	packet "github.com/osrg/gobgp/v3/pkg/packet/bgp"

	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/lbprovider/bgp"
	"github.com/fairlead/fairlead/lbprovider/bgp/wire"
)

// FuzzMessage: what the engine makes of a message that a peer sent, or of its
// text, ends nothing in the engine itself, and is safe to show. That gobgp parses
// it in a process of its own is for its crashes, which are no failure here.
func FuzzMessage(f *testing.F) {
	for _, body := range []string{"", "\x00", "\x06\x02\x05hello", "\x06\x02\x28\x1b[2J\n\r\t\x00\f{\"level\":\"INFO\"}", "\x02\x02", "\x02\x06\xff\xfe", "\x01\x03ab"} {
		for kind := range byte(7) {
			f.Add(kind, []byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, kind byte, body []byte) {
		e := &problemLogger{log: slog.New(slog.DiscardHandler)}
		e.setPeer(bgp.Peer{Name: "tor", Address: netip.MustParseAddr("198.18.0.1")}, func() {})
		m := parsed(kind, body)
		if m == nil {
			e.Warn("sent notification", log.Fields{"Data": packet.NewMessageError(kind, byte(len(body)), body, string(body))})
		} else if n, ok := m.Body.(*packet.BGPNotification); ok {
			e.Warn("received notification", log.Fields{"Code": n.ErrorCode, "Subcode": n.ErrorSubcode, "Communicated-Reason": string(n.Data), "Data": n.Data})
		}
		e.Warn("received notification", log.Fields{"Code": kind, "Subcode": string(body), "Communicated-Reason": body})
		e.Info("state changed", log.Fields{"old": string(body), "new": kind, "reason": body})
		if text := terminal.Excerpt(e.lastProblem(), wire.MaxProblem); text != terminal.Line(text) {
			t.Fatalf("problem %q", text)
		}
	})
}

// parsed is the message as gobgp reads it, or nothing.
func parsed(kind byte, body []byte) (m *packet.BGPMessage) {
	defer func() {
		if recover() != nil {
			m = nil
		}
	}()
	if len(body) > 4096-19 {
		body = body[:4096-19]
	}
	m, err := packet.ParseBGPBody(&packet.BGPHeader{Len: uint16(19 + len(body)), Type: kind}, body)
	if err != nil {
		return nil
	}
	return m
}

// TestNoDevice: the device that is missing is named, be it a VRF or the interface
// of a session without addresses.
func TestNoDevice(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]bgp.Peer{
		`this node has no device "red"`:  {VRF: "red", Address: netip.MustParseAddr("198.18.0.1")},
		`this node has no device "eth7"`: {Interface: "eth7"},
	} {
		if got := dialProblem(p, fmt.Errorf("dial: %w", syscall.ENODEV)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestEdited: commands that change routes lead to those that the speaker wants.
func TestEdited(t *testing.T) {
	t.Parallel()
	route := func(n byte, pref uint32) bgp.Route {
		return bgp.Route{Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, 0, n}), 32), LocalPref: pref}
	}
	lists := [][]bgp.Route{nil, {route(1, 0), route(2, 0)}, {route(2, 5), route(9, 0)}, {route(3, 0)}, nil}
	var have []bgp.Route
	for _, want := range lists {
		gone, changed := bgp.Differences(have, want)
		var withdrawn []netip.Prefix
		for _, r := range gone {
			withdrawn = append(withdrawn, r.Prefix)
		}
		if have = applyChanges(have, withdrawn, changed); fmt.Sprint(have) != fmt.Sprint(want) && len(have)+len(want) > 0 {
			t.Errorf("routes %v, want %v", have, want)
		}
	}
}
