package election_test

import (
	"fmt"
	"net/netip"

	"github.com/fairlead/fairlead/lbprovider/election"
)

// Every node computes the same owner, and when a node leaves only its addresses
// move.
func ExampleOrder() {
	all := []election.Candidate{{Node: "n1"}, {Node: "n2"}, {Node: "n3"}}
	for _, text := range []string{"192.168.10.200", "192.168.10.202", "192.168.10.207"} {
		addr := netip.MustParseAddr(text)
		before, after := election.Order(addr, all), election.Order(addr, all[:2])
		fmt.Println(addr, "owner:", before[0], "without n3:", after[0])
	}
	// Output:
	// 192.168.10.200 owner: n1 without n3: n1
	// 192.168.10.202 owner: n2 without n3: n2
	// 192.168.10.207 owner: n3 without n3: n2
}

// A preference comes before the hash.
func ExampleOrder_score() {
	addr := netip.MustParseAddr("192.168.10.200")
	fmt.Println(election.Order(addr, []election.Candidate{{Node: "n1"}, {Node: "n2"}, {Node: "n3", Score: 10}})[0])
	// Output: n3
}
