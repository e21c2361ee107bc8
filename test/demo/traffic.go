package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// curl returns a curl command for a host of the samples, without DNS.
func (d *demo) curl(options, scheme, host, path string) string {
	port := map[string]string{"http": "80", "https": "443"}[scheme]
	if options != "" {
		options += " "
	}
	url := quote([]string{scheme + "://" + host + path})
	return fmt.Sprintf("curl -sS -m 5 %s--resolve %s:%s:%s %s", options, host, port, d.product.Address, url)
}

func (d *demo) plainRoute(ctx context.Context) error {
	if err := d.expect(ctx, d.curl("", "http", "plain.apps.example.com", "/text"), "demo v1 demo-v1-"); err != nil {
		return err
	}
	return d.expect(ctx, d.curl("", "http", "plain.apps.example.com", "/some/path?pretty"), `"X-Forwarded-For"`)
}

// edgeRoute verifies the Route's own certificate, and that plain HTTP is sent to HTTPS.
func (d *demo) edgeRoute(ctx context.Context) error {
	const host = "edge.apps.example.com"
	ca, err := d.save(ctx, "edge.crt", "route/edge", "jsonpath={.spec.tls.certificate}")
	if err != nil {
		return err
	}
	if err := d.expect(ctx, d.curl("--cacert "+ca, "https", host, "/text"), "demo v1"); err != nil {
		return err
	}
	return d.expect(ctx, d.curl("-o /dev/null -w '%{http_code} %{redirect_url}\\n'", "http", host, "/text"), "302 https://"+host+"/text")
}

// save writes a field of an object into a file for curl and returns its path.
func (d *demo) save(ctx context.Context, name, object, jsonpath string) (string, error) {
	text, err := d.cluster.Kubectl(ctx, "-n", "demo", "get", object, "-o", jsonpath)
	if err != nil {
		return "", err
	}
	file := filepath.Join(d.scratch, name)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	return file, nil
}

// weightedRoute counts 500 answers. The weights are exact per HAProxy thread, so a few answers either way are right.
func (d *demo) weightedRoute(ctx context.Context) error {
	const requests, slack = 500, 10
	out, err := d.client(ctx, d.curl("", "http", "weighted.apps.example.com", fmt.Sprintf("/text?[1-%d]", requests))+" | cut -d' ' -f2 | sort | uniq -c")
	if err != nil {
		return err
	}
	counts := map[string]int{}
	for line := range strings.Lines(out) {
		var n int
		var version string
		if _, err := fmt.Sscan(line, &n, &version); err != nil {
			return fmt.Errorf("read %q: %w", line, err)
		}
		counts[version] = n
	}
	d.say("v1 %.1f %%, v2 %.1f %% of %d", 100*float64(counts["v1"])/requests, 100*float64(counts["v2"])/requests, requests)
	if counts["v1"]+counts["v2"] != requests || counts["v2"] < requests/5-slack || counts["v2"] > requests/5+slack {
		return fmt.Errorf("%v of %d answers, want 80 to 20", counts, requests)
	}
	return nil
}

// passthroughRoute looks at the certificate, which only the pod can have made.
func (d *demo) passthroughRoute(ctx context.Context) error {
	const host = "passthrough.apps.example.com"
	command := d.curl("-k -v", "https", host, "/text") + " 2>&1 | grep -E 'subject:|issuer:|^demo '"
	if err := d.expect(ctx, command, "demo v1"); err != nil {
		return err
	}
	return d.expect(ctx, d.curl("-k", "https", host, "/?pretty")+" | grep -E 'tls|sni'", host)
}

func (d *demo) ingress(ctx context.Context) error {
	const host = "ingress.apps.example.com"
	ca, err := d.save(ctx, "ingress.crt", "secret/ingress-demo-certificate", `go-template={{index .data "tls.crt" | base64decode}}`)
	if err != nil {
		return err
	}
	if err := d.expect(ctx, d.curl("--cacert "+ca, "https", host, "/text"), "demo v1"); err != nil {
		return err
	}
	if err := d.expect(ctx, d.curl("--cacert "+ca, "https", host, "/v2/text"), "demo v2"); err != nil {
		return err
	}
	out, err := d.kubectl(ctx, "-n", "demo", "get", "ingress")
	if err == nil && d.cloud == "" && !strings.Contains(out, d.product.Address) {
		err = fmt.Errorf("the Ingress does not show the address %s", d.product.Address)
	}
	return err
}

func (d *demo) unknownHost(ctx context.Context) error {
	return d.expect(ctx, d.curl("-o /dev/null -w '%{http_code}\\n'", "http", "nobody.apps.example.com", "/"), "404")
}

// statistics shows HAProxy's counters as the user that the operator made.
func (d *demo) statistics(ctx context.Context) error {
	user, password, err := d.statsUser(ctx)
	if err != nil {
		return err
	}
	pods, err := d.routerPods(ctx)
	if err != nil {
		return err
	}
	pod := pods[0]
	page := fmt.Sprintf("curl -sS -k -m 5 -u '%s:%s' 'https://%s:1936/;csv'", user, password, pod)
	if err := d.expect(ctx, page+" | cut -d, -f1,2,5,8,18 | grep -E '^# |:demo:plain:'", ":demo:plain:"); err != nil {
		return err
	}
	return d.expect(ctx, fmt.Sprintf("curl -sS -k -m 5 -o /dev/null -w '%%{http_code}\\n' 'https://%s:1936/'", pod), "401")
}

func (d *demo) statsUser(ctx context.Context) (user, password string, err error) {
	out, err := d.cluster.Kubectl(ctx, "-n", "openshift-ingress", "get", "secret", "router-stats-default",
		"-o", `go-template={{.data.statsUsername | base64decode}} {{.data.statsPassword | base64decode}}`)
	user, password, _ = strings.Cut(out, " ")
	return user, password, err
}

// routerPods returns the addresses of the router pods that are ready, the one on the announcing node first.
func (d *demo) routerPods(ctx context.Context) ([]string, error) {
	owner, err := d.product.Owner(ctx)
	if err != nil {
		return nil, err
	}
	out, err := d.cluster.Kubectl(ctx, "-n", "openshift-ingress", "get", "pods", "-o",
		`jsonpath={range .items[?(@.status.phase=="Running")]}{.status.conditions[?(@.type=="Ready")].status} {.status.podIP} {.spec.nodeName}{"\n"}{end}`)
	if err != nil {
		return nil, err
	}
	var pods []string
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		switch {
		case len(fields) != 3 || fields[0] != "True":
		case fields[2] == owner:
			pods = append([]string{fields[1]}, pods...)
		default:
			pods = append(pods, fields[1])
		}
	}
	if len(pods) == 0 {
		return nil, errors.New("no router pod is ready")
	}
	return pods, nil
}
