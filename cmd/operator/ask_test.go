package main

import (
	"strings"
	"testing"
)

// TestAsk: what cannot be asked is said, with the exit code.
func TestAsk(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--help"}, 0, "helm test"},
		{[]string{"--at=192.0.2.1"}, 2, "-at"},
		{[]string{"--address=$(ROUTER_INTERNAL_DEFAULT_SERVICE_HOST)"}, 2, "has not made the Service"},
		{[]string{"--address=127.0.0.1", "--timeout=1ns"}, 1, "ask the routers at 127.0.0.1"},
	} {
		var out strings.Builder
		if code := ask(t.Context(), test.args, &out); code != test.code || !strings.Contains(out.String(), test.want) {
			t.Errorf("%q: code %d, %s", test.args, code, out.String())
		}
	}
}
