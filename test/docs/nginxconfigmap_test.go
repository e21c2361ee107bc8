package docs

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestNginxConfigMap: each key of ingress-nginx's ConfigMap has one row, and those that keep
// clients away are marked.
func TestNginxConfigMap(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/routes/nginx-configmap.md")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := os.ReadFile("testdata/nginx-configmap-keys.txt")
	if err != nil {
		t.Fatal(err)
	}
	key := regexp.MustCompile("`([a-z0-9-]+)`")
	rows := map[string]string{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| `") || len(cells) != 3 {
			continue
		}
		for _, k := range key.FindAllStringSubmatch(cells[0], -1) {
			if rows[k[1]] != "" {
				t.Errorf("%s has two rows", k[1])
			}
			rows[k[1]] = cells[1]
		}
	}
	want := strings.Fields(string(keys))
	for _, k := range want {
		switch class := strings.TrimPrefix(rows[k], "**P** "); class {
		case "=", "≈", "–", "✗":
		default:
			t.Errorf("%s has class %q", k, rows[k])
		}
	}
	for k := range rows {
		if !slices.Contains(want, k) {
			t.Errorf("%s is no key of ingress-nginx v1.15.1", k)
		}
	}
	for _, k := range []string{"whitelist-source-range", "denylist-source-range", "block-cidrs", "global-auth-url", "enable-modsecurity", "limit-conn-zone-variable", "proxy-real-ip-cidr"} {
		if !strings.HasPrefix(rows[k], "**P**") {
			t.Errorf("%s keeps clients away, and its class is %q", k, rows[k])
		}
	}
}
