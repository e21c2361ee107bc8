package cases

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/observe"
)

// failedBed is a router that keeps what fails.
func failedBed(t *testing.T, version string, spec operatorv1.IngressControllerSpec) *observedBed {
	t.Helper()
	o := newObservedBed(t, version, func(b *bed) { b.controller.Store(&operatorv1.IngressController{Spec: spec}) })
	o.apply(parseStep(t, map[string]string{"services": "ob/web http=8080 web-a@198.18.250.225", "in.yaml": `kind: RoutePolicy
metadata: {namespace: ob, name: ids}
spec: {targetRefs: [{group: route.openshift.io, kind: Route, name: silent}], log: {requestID: Keep}}
`}))
	return o
}

// keep begins to keep requests, as a router does with this annotation.
func (o *observedBed) keep(reload bool) {
	o.t.Helper()
	before := o.reloads()
	o.annotate(api.AnnotationKeepRequests, "failed")
	o.eventually("the settings are in use", func() error {
		if n := o.reloads() - before; reload && n != 1 {
			return fmt.Errorf("%d reloads, want 1", n)
		}
		return nil
	})
	o.feed.Keep(true)
	o.eventually("HAProxy writes what fails", func() error { return o.samples(1) })
}

// kept asks for an ID.
func (o *observedBed) kept(id string) (observe.Kept, error) {
	var k observe.Kept
	answer, err := http.Get(o.server.URL + observe.KeptPath + url.PathEscape(id))
	if err != nil {
		return k, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return k, errors.New(answer.Status)
	}
	return k, json.NewDecoder(answer.Body).Decode(&k)
}

// found is the only request of an ID.
func (o *observedBed) found(id string) observe.Record {
	o.t.Helper()
	var k observe.Kept
	o.eventually("the request "+id, func() (err error) {
		if k, err = o.kept(id); err == nil && len(k.Found) != 1 {
			err = fmt.Errorf("%+v", k)
		}
		return err
	})
	return k.Found[0]
}

var isUUID = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// TestKept: a request that failed is found by the ID that its answer has, with pod, status, times and words; others have no ID,
// and nothing of them is written. Without the annotation there is none at all.
func TestKept(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		o := failedBed(t, version, operatorv1.IngressControllerSpec{})
		get := func(host, target string, header ...string) (response, string) {
			t.Helper()
			r := request{method: "GET", host: host, target: target, header: header}
			res := r.do(o.http, o.https)
			if res.err != nil {
				t.Fatalf("%s%s: %v", host, target, res.err)
			}
			return res, res.header.Get("X-Request-Id")
		}
		if _, id := get("none.ob.test", "/before"); id != "" {
			t.Errorf("without the annotation an answer has the ID %q", id)
		}
		o.keep(true)
		type wanted struct {
			host, target string
			header       []string
			id           string
			want         observe.Record
		}
		for _, w := range []wanted{
			{host: "none.ob.test", target: "/none?token=secret", header: []string{"Cookie: c=secret", "Authorization: Bearer secret"}, want: observe.Record{Route: "none", Path: "/none", Status: 503, Words: "no pod was ready"}},
			{host: "dead.ob.test", target: "/dead", want: observe.Record{Route: "dead", Path: "/dead", Pod: "dead-a", Status: 503, Words: "the pod refused the connection (4 attempts)"}},
			{host: "closed.ob.test", target: "/closed", want: observe.Record{Route: "closed", Path: "/closed", Status: 403, Words: "the router refused the request: it is invalid, or a policy does not admit it"}},
			{host: "unknown.test", target: "/unknown", want: observe.Record{Path: "/unknown", Status: 404, Words: "the router answered by itself"}},
			{host: "silent.ob.test", target: "/silent", header: []string{"X-Request-ID: mine/|%0a 1"}, id: "mine/|%0a 1", want: observe.Record{Route: "silent", Path: "/silent", Pod: "silent-a", Status: 504, Words: "the pod did not answer within the timeout"}},
			{host: "silent.ob.test", target: "/made", want: observe.Record{Route: "silent", Path: "/made", Pod: "silent-a", Status: 504, Words: "the pod did not answer within the timeout"}},
		} {
			res, id := get(w.host, w.target, w.header...)
			if w.id != "" && id != w.id || w.id == "" && !isUUID.MatchString(id) || len(res.header.Values("X-Request-Id")) != 1 {
				t.Errorf("%s: IDs %q, want one: %s", w.target, res.header.Values("X-Request-Id"), w.id)
				continue
			}
			r := o.found(id)
			if r.Route != w.want.Route || r.Path != w.want.Path || r.Pod != w.want.Pod || r.Status != w.want.Status || r.Words != w.want.Words || r.Timers.Total < 0 || r.ID != id || r.Host != w.host {
				t.Errorf("%s: %+v, want %+v", w.target, r, w.want)
			}
		}
		if res, id := get("web.ob.test", "/good"); id != "" || res.status != http.StatusOK {
			t.Errorf("an answer %d has the ID %q", res.status, id)
		}
		written := o.ring()
		for _, text := range []string{"secret", "/good", "/before"} {
			if strings.Contains(written, text) {
				t.Errorf("%q is in HAProxy's ring:\n%s", text, written)
			}
		}
		o.feed.Keep(false)
		o.off("nothing is kept any more")
		if k, err := o.kept("mine/|%0a 1"); err != nil || k.On || len(k.Found) > 0 || k.Requests > 0 {
			t.Errorf("%+v, %v", k, err)
		}
		if _, id := get("none.ob.test", "/after"); id != "" {
			t.Errorf("an answer that is not kept has the ID %q", id)
		}
	})
}

// TestKeptUniqueID: the ID of spec.httpHeaders.uniqueId is the one that answers have, and beside an access log what a Route leaves
// out of it is not kept. HAProxy 3.0 cannot do both.
func TestKeptUniqueID(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		lines := syslog(t)
		spec := operatorv1.IngressControllerSpec{}
		everySetting(&spec, lines.port)
		spec.TLSSecurityProfile = nil
		spec.HTTPHeaders = &operatorv1.IngressControllerHTTPHeaders{UniqueId: operatorv1.IngressControllerHTTPUniqueIdHeaderPolicy{Name: "X-Unique", Format: "%ci/%rt name"}}
		spec.Logging.Access.HttpLogFormat = "path=%HP id=%ID."
		o := failedBed(t, version, spec)
		if !o.caps.LogProfiles {
			o.annotate(api.AnnotationKeepRequests, "failed")
			o.eventually("a finding", func() error {
				if f := o.findings.Load(); f == nil || !strings.Contains(fmt.Sprint(*f), "no requests are kept") {
					return fmt.Errorf("findings %v", f)
				}
				return nil
			})
			return
		}
		o.keep(true)
		res := (&request{method: "GET", host: "none.ob.test", target: "/none"}).do(o.http, o.https)
		id := res.header.Get("X-Request-Id")
		if !strings.HasPrefix(id, "127.0.0.1/") || !strings.HasSuffix(id, " name") {
			t.Fatalf("the ID is %q", id)
		}
		if r := o.found(id); r.Status != http.StatusServiceUnavailable || r.Route != "none" {
			t.Errorf("%+v", r)
		}
		if got := lines.gather([]string{"path=/none id=" + id}); strings.Contains(got, "|") {
			t.Errorf("the access log:\n%s", got)
		}
	})
}
