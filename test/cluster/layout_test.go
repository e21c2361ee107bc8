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
