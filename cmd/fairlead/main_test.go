package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestCommands: what each command prints and ends with, on the manifests of `make try`.
func TestCommands(t *testing.T) {
	t.Parallel()
	const folder = "../../test/try"
	for _, test := range []struct {
		args string
		code int
		want string
	}{
		{"explain http://hello.apps.localhost/ --demo -f " + folder, 0, "SERVED  http://hello.apps.localhost/"},
		{"explain http://hello.apps.localhost/ -f " + folder, 1, "NoEndpoints"},
		{"explain http://nothing.apps.localhost/ -f " + folder, 1, "NOT SERVED"},
		{"explain -f " + folder, 2, "needs a URL"},
		{"explain http://hello.apps.localhost/", 2, "-f"},
		{"why route/demo/weighted -f " + folder, 0, "weighted.apps.localhost"},
		{"why weighted -f " + folder, 2, "route/NAMESPACE/NAME"},
		{"lint -f " + folder, 0, "0 errors"},
		{"version", 0, "fairlead "},
		{"help", 0, "serve"},
		{"serv", 2, "use one of"},
		{"", 2, "no command given"},
		{"serve -f " + folder + " --name a/b", 2, "--name"},
		{"serve -f " + folder + " --http x", 2, "0 for none, or auto"},
		{"serve -f " + folder + " --haproxy /nonexistent", 3, "/nonexistent"},
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), strings.Fields(test.args), strings.NewReader(""), &out, &errs)
		if all := out.String() + errs.String(); code != test.code || !strings.Contains(all, test.want) {
			t.Errorf("fairlead %s: code %d, want %d and %q:\n%s", test.args, code, test.code, test.want, all)
		}
	}
}
