package cluster

import "testing"

func TestLayoutAddresses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		layout layout
		host   string
		want   string
	}{
		{"control plane of the first cluster", layout{Slot: 0, Nodes: 2}, "cp", "198.18.0.1"},
		{"second node", layout{Slot: 0, Nodes: 2}, "n2", "198.18.0.12"},
		{"client of another cluster", layout{Slot: 7, Nodes: 2}, "client", "198.18.7.100"},
		{"last slot stays in the benchmarking range", layout{Slot: maxSlots - 1, Nodes: 2}, "tor", "198.19.255.101"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.layout.address(tt.host).String(); got != tt.want {
				t.Errorf("address(%s) = %s, want %s", tt.host, got, tt.want)
			}
		})
	}
}

func TestLayoutRefusesBadNames(t *testing.T) {
	t.Parallel()
	for _, bad := range []layout{{Name: "", Nodes: 1}, {Name: "A", Nodes: 1}, {Name: "a-b", Nodes: 1}, {Name: "waytoolongname", Nodes: 1}, {Name: "a", Nodes: 41}, {Name: "a"}} {
		if bad.validate() == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
	if err := (layout{Name: DefaultName, Nodes: maxNodes}).validate(); err != nil {
		t.Error(err)
	}
}

func TestDualStackLayout(t *testing.T) {
	t.Parallel()
	l := layout{Name: "a", Slot: 258, Nodes: 2, DualStack: true}
	if got, want := l.nodeAddresses("n2"), "198.19.2.12,fd00:c612:102::c"; got != want {
		t.Errorf("addresses of n2 are %s, want %s", got, want)
	}
	ranges, routes := l.podNetworks("n1")
	if want := `[[{"subnet": "10.244.1.0/24"}], [{"subnet": "fd00:10:244:1::/64"}]]`; ranges != want {
		t.Errorf("ranges of pods are %s, want %s", ranges, want)
	}
	if want := `[{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]`; routes != want {
		t.Errorf("routes of pods are %s, want %s", routes, want)
	}
	l.DualStack = false
	if ranges, _ := l.podNetworks("n1"); l.nodeAddresses("n2") != "198.19.2.12" || l.network6("n1") != nil || ranges != `[[{"subnet": "10.244.1.0/24"}]]` {
		t.Errorf("a cluster of one family has a second one: %s, %v, %s", l.nodeAddresses("n2"), l.network6("n1"), ranges)
	}
}
