package snapshot

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func exampleRelays() []Relay {
	return []Relay{{Port: 24000, Namespace: "shop", Unusable: 2, Targets: []RelayTarget{
		{Weight: 1, Endpoints: []netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:53"), netip.MustParseAddrPort("[fd00::1]:53")}}, {Weight: MaxRelayWeight},
	}}, {Port: 24001, Namespace: "blog"}}
}

// TestRelays: what a router sends is what the agent reads, and another relay is another
// snapshot.
func TestRelays(t *testing.T) {
	t.Parallel()
	around := Surroundings{Relays: exampleRelays()}
	whole, err := Join(7, around, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Decode(whole)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(around.Relays, s.Relays, cmpopts.EquateComparable(netip.AddrPort{})); diff != "" {
		t.Error(diff)
	}
	_, first, _ := Select(around, nil)
	for i, change := range []func(*Relay){
		func(r *Relay) { r.Port++ },
		func(r *Relay) { r.Namespace = "x" },
		func(r *Relay) { r.Unusable = 0 },
		func(r *Relay) { r.Targets = r.Targets[:1] },
		func(r *Relay) { r.Targets[0].Weight = 2 },
		func(r *Relay) { r.Targets[0].Endpoints = r.Targets[0].Endpoints[1:] },
	} {
		other := Surroundings{Relays: exampleRelays()}
		change(&other.Relays[0])
		if _, generation, _ := Select(other, nil); generation == first || other.Equal(around) {
			t.Errorf("change %d makes no other snapshot", i)
		}
	}
	if _, generation, _ := Select(Surroundings{Relays: exampleRelays()}, nil); generation != first || !around.Equal(Surroundings{Relays: exampleRelays()}) {
		t.Error("the same relays make another snapshot")
	}
}

// TestRelayBounds: relays that no router sends are refused with the whole snapshot.
func TestRelayBounds(t *testing.T) {
	t.Parallel()
	target := func(weight int, endpoints ...string) RelayTarget {
		out := RelayTarget{Weight: weight}
		for _, e := range endpoints {
			out.Endpoints = append(out.Endpoints, netip.MustParseAddrPort(e))
		}
		return out
	}
	many := make([]Relay, MaxRelays+1)
	for i := range many {
		many[i].Port = uint16(24000 + i)
	}
	crowd := target(1)
	for i := range MaxRelayEndpoints + 1 {
		crowd.Endpoints = append(crowd.Endpoints, netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i / 256), byte(i)}), 53))
	}
	for name, relays := range map[string][]Relay{
		"too many":               many,
		"a privileged port":      {{Port: 53}},
		"a port twice":           {{Port: 24000}, {Port: 24000}},
		"no weight":              {{Port: 24000, Targets: []RelayTarget{target(0, "10.0.0.1:53")}}},
		"a weight below zero":    {{Port: 24000, Unusable: -1}},
		"too heavy":              {{Port: 24000, Targets: []RelayTarget{target(MaxRelayWeight + 1)}}},
		"too many targets":       {{Port: 24000, Targets: append(make([]RelayTarget, MaxRelayTargets), target(1))}},
		"too many endpoints":     {{Port: 24000, Targets: []RelayTarget{crowd}}},
		"port zero of a pod":     {{Port: 24000, Targets: []RelayTarget{target(1, "10.0.0.1:0")}}},
		"an address with a zone": {{Port: 24000, Targets: []RelayTarget{target(1, "[fe80::1%eth0]:53")}}},
	} {
		whole, err := Join(1, Surroundings{Relays: relays}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(whole); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// FuzzRelays: whatever a snapshot holds, what is taken is within the bounds.
func FuzzRelays(f *testing.F) {
	text, err := json.Marshal(exampleRelays())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	for _, s := range []string{`\n`, `\t`, `\r`, `\u0000`, `\f`, "1e9", "-1"} {
		f.Add(strings.NewReplacer("shop", s, `"weight":1,`, fmt.Sprintf(`"weight":%s,`, strings.Trim(s, `\`))).Replace(string(text)))
	}
	f.Add(`[{"port":65536,"namespace":"a"}]`)
	f.Add(`[{"port":24000,"namespace":"a","targets":[{"weight":1,"endpoints":["::ffff:10.0.0.1:53","10.0.0.1:53","x"]}]}]`)
	f.Fuzz(func(t *testing.T, relays string) {
		s, err := Decode(frame(`{"version":1,"generation":1,"relays":` + relays + `,"policies":[]}`))
		if err != nil {
			return
		}
		seen, total := map[uint16]bool{}, 0
		for _, r := range s.Relays {
			if r.Port < 1024 || seen[r.Port] {
				t.Errorf("port %d", r.Port)
			}
			seen[r.Port] = true
			total = r.Unusable
			for _, target := range r.Targets {
				total += target.Weight
				for _, e := range target.Endpoints {
					if !e.IsValid() || e.Port() == 0 {
						t.Errorf("endpoint %s", e)
					}
				}
			}
			if total < 0 || total > 2*MaxRelayTargets*MaxRelayWeight {
				t.Errorf("weights of %d", total)
			}
		}
	})
}
