package render_test

import (
	"fmt"
	"net/netip"
	"os"
	"strings"

	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/render"
)

// Backends come out in the order of their names, so equal states give equal
// files. A value that is more than one word is never written.
func ExampleBackends() {
	state := plan.NewState()
	state.Backends["be_http:web:shop"] = &plan.Backend{Profile: "http", Servers: plan.Servers{
		{Name: "pod-1", Server: &plan.Server{Address: netip.MustParseAddrPort("10.0.0.1:8080"), Weight: 256}},
		{Name: "pod-2", Server: &plan.Server{Address: netip.MustParseAddrPort("[fd00::2]:8080"), Weight: 128, MaxConn: 50}},
	}}
	layout := render.Layout{Dir: "/var/lib/haproxy"}
	if err := render.Backends(os.Stdout, state, layout, plan.Capabilities{}); err != nil {
		fmt.Println(err)
	}

	state.Backends["be_http:web:shop"].Profile = "http\n  server evil 10.9.9.9:80"
	fmt.Println(render.Backends(new(strings.Builder), state, layout, plan.Capabilities{}))
	// Output:
	// backend be_http:web:shop from http
	//   server pod-1 10.0.0.1:8080 weight 256
	//   server pod-2 [fd00::2]:8080 weight 128 maxconn 50
	// not written for HAProxy: character 0x0a in "http\n  server evil 10.9.9.9:80"
}
