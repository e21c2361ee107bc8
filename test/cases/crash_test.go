package cases

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// TestCrashAfterChange: a HAProxy that ends before its files have the newest changes
// starts with them all the same, without a router to put it right: doors that were closed,
// keys that went, and paths that another policy claimed.
func TestCrashAfterChange(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		b := newBed(t, version, newMemory())
		b.start()
		services := map[string]string{"services": "j/web http=8080 web@198.18.250.97"}
		first := parseStep(t, services)
		for _, name := range []string{"closed", "gone", "under", "other"} {
			first.put = append(first.put, objectsChange(t, crashRoute(name, "")).put...)
		}
		authorities := func(name, ca string) string {
			return fmt.Sprintf("kind: Secret\nmetadata: {namespace: j, name: %s}\ndata: {ca.crt: %s}", name, base64.StdEncoding.EncodeToString([]byte(pki().ca(t, ca).certPEM)))
		}
		certified := func(secret string) change {
			return objectsChange(t, fmt.Sprintf("kind: RoutePolicy\nmetadata: {namespace: j, name: certified}\nspec: {targetRefs: [{group: route.openshift.io, kind: Route, name: certified}], authentication: {clientCertificate: {caSecret: %s}}}", secret))
		}
		text := strings.Replace(crashRoute("certified", ""), "name: web}}", "name: web}, tls: {termination: edge}}", 1)
		first.put = append(first.put, objectsChange(t, authorities("a", "client-a")+"\n---\n"+authorities("b", "client-b")+"\n---\n"+text).put...)
		first.put = append(first.put, certified("b").put...)
		b.apply(first)
		b.eventually("the files have the routes", func() error {
			if text, err := os.ReadFile(b.layout.MapFile(plan.MapHTTP)); !strings.Contains(string(text), "under.crash.test") {
				return fmt.Errorf("%s: %w", text, err)
			}
			return nil
		})
		const closed = `, annotations: {fairlead.dev/allow: "203.0.113.0/24"}`
		b.apply(change{del: []model.Object{parseObject("Route", "j/gone")}})
		b.apply(objectsChange(t, strings.Replace(crashRoute("admin", closed), "admin.crash.test", "under.crash.test, path: /admin", 1)))
		b.eventually("the list has the host", func() error {
			if text, err := os.ReadFile(b.layout.ClientList()); !strings.Contains(string(text), "certified.crash.test") {
				return fmt.Errorf("%s: %w", text, err)
			}
			return nil
		})
		file := b.text(b.layout.MapFile(plan.MapHTTP))
		b.apply(objectsChange(t, crashRoute("closed", closed)))
		b.apply(certified("a"))
		b.apply(objectsChange(t, crashRoute("other", `, annotations: {fairlead.dev/allow: "0.0.0.0/0"}`)))
		if b.text(b.layout.MapFile(plan.MapHTTP)) != file {
			t.Fatal("the files have the changes already, and this shows nothing")
		}
		b.stopEngine()
		unfinished(t, b.layout.Journal())
		old, err := workerPID(b)
		if err != nil {
			t.Fatal(err)
		}
		for _, pid := range []int{old, parentOf(t, old)} {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		b.eventually("another HAProxy", func() error {
			if pid, err := workerPID(b); err != nil || pid == old {
				return fmt.Errorf("process %d: %w", pid, err)
			}
			return nil
		})
		for line, want := range map[string]int{
			"GET http://closed.crash.test/": 403, "GET http://gone.crash.test/": 404, "GET http://other.crash.test/": 200,
			"GET https://certified.crash.test/ as=mallory@client-b": 421, "GET http://under.crash.test/": 200, "GET http://under.crash.test/admin": 403,
		} {
			e, err := parseLine(line + " -> 200")
			if err != nil {
				t.Fatal(err)
			}
			if r := e.request.do(b.http, b.https); r.status != want {
				t.Errorf("%s: %d, want %d (%v)", line, r.status, want, r.err)
			}
		}
	})
}

// unfinished adds lines that a router did not write to their ends, or that no router wrote.
func unfinished(t *testing.T, journal string) {
	t.Helper()
	f, err := os.OpenFile(journal, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString("9 nomap a b\n\nx\n5 http \n-1 http a b\n23 http other.crash.test")
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

func crashRoute(name, annotations string) string {
	return fmt.Sprintf("kind: Route\nmetadata: {namespace: j, name: %[1]s%[2]s}\nspec: {host: %[1]s.crash.test, to: {kind: Service, name: web}}", name, annotations)
}
