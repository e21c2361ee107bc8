package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// members is a Route whose clients an auth server admits: the sample pods, which know who has a session by the cookie
// of that name.
const members = `apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: members, namespace: demo}
spec:
  host: members.apps.example.com
  port: {targetPort: http}
  to: {kind: Service, name: demo-v1}
---
apiVersion: fairlead.dev/v1alpha1
kind: RoutePolicy
metadata: {name: login, namespace: demo}
spec:
  targetRefs:
  - {group: route.openshift.io, kind: Route, name: members}
  authentication:
    external:
      service: {name: demo-v2, port: http, path: /session}
      responseHeaders: [X-User]
      signIn: {url: "https://login.example.com/"}
`

// login shows that no client passes without a session, and that pods get the user that the auth server names.
func (d *demo) login(ctx context.Context) error {
	file := filepath.Join(d.scratch, "members.yaml")
	if err := os.WriteFile(file, []byte(members), 0o600); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	d.show("$", "cat "+file, members)
	if _, err := d.kubectl(ctx, "apply", "-f", file); err != nil {
		return err
	}
	const host = "members.apps.example.com"
	if err := d.live(ctx, host, http.StatusFound); err != nil {
		return err
	}
	const code = "-o /dev/null -w '%{http_code} %{redirect_url}\\n'"
	if err := d.expect(ctx, d.curl(code, "http", host, "/text"), "302 https://login.example.com/?rd="); err != nil {
		return err
	}
	if err := d.expect(ctx, d.curl(code+" -H 'X-User: root'", "http", host, "/text"), "302 https://login.example.com/?rd="); err != nil {
		return err
	}
	return d.expect(ctx, d.curl("-b session=ann -H 'X-User: root'", "http", host, "/?pretty")+" | grep -A 2 X-User", `"ann"`)
}

// rateLimit gives a Route a limit while it serves.
func (d *demo) rateLimit(ctx context.Context) error {
	const host = "plain.apps.example.com"
	if _, err := d.kubectl(ctx, "-n", "demo", "annotate", "route/plain", "fairlead.dev/limit=5/m"); err != nil {
		return err
	}
	// The requests that find out when the limit is live count as well.
	if err := d.live(ctx, host, http.StatusTooManyRequests); err != nil {
		return err
	}
	if err := d.expect(ctx, d.curl("-o /dev/null -D -", "http", host, "/text")+" | grep -iE '^(HTTP|retry-after|ratelimit)'", "retry-after: "); err != nil {
		return err
	}
	_, err := d.kubectl(ctx, "-n", "demo", "annotate", "route/plain", "fairlead.dev/limit-")
	if err != nil {
		return err
	}
	return d.live(ctx, host, http.StatusOK)
}

// misspelt shows that a slip in an annotation that protects closes the door, and where its owner reads why.
func (d *demo) misspelt(ctx context.Context) error {
	const host = "plain.apps.example.com"
	if _, err := d.kubectl(ctx, "-n", "demo", "annotate", "route/plain", "fairlead.dev/denny=198.51.100.0/24"); err != nil {
		return err
	}
	if err := d.live(ctx, host, http.StatusServiceUnavailable); err != nil {
		return err
	}
	if err := d.event(ctx, "plain", "PolicyClosed", "fairlead.dev/denny"); err != nil {
		return err
	}
	if _, err := d.kubectl(ctx, "-n", "demo", "annotate", "route/plain", "fairlead.dev/denny-"); err != nil {
		return err
	}
	return d.live(ctx, host, http.StatusOK)
}

// live waits for an answer and says when it came.
func (d *demo) live(ctx context.Context, host string, status int) error {
	took, err := d.awaitStatus(ctx, d.httpClient(time.Second), d.product.Address, host, status)
	if err == nil {
		d.say("%s answers %d, %s after the command", host, status, milliseconds(took))
	}
	return err
}

// event waits for an event of a Route and shows it.
func (d *demo) event(ctx context.Context, route, reason, text string) error {
	args := []string{"-n", "demo", "get", "events", "--field-selector", "involvedObject.name=" + route + ",reason=" + reason, "-o", "custom-columns=TYPE:.type,REASON:.reason,MESSAGE:.message"}
	for end := time.Now().Add(10 * time.Second); ; {
		out, err := d.cluster.Kubectl(ctx, args...)
		if err == nil && strings.Contains(out, text) {
			d.show("$", "kubectl "+quote(args), out)
			return nil
		}
		if err == nil {
			err = fmt.Errorf("no event of reason %s names %s", reason, text)
		}
		if time.Now().After(end) || ctx.Err() != nil {
			return err
		}
		time.Sleep(200 * time.Millisecond)
	}
}
