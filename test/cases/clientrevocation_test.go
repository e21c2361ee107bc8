package cases

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/model"
)

// revocationObjects are hosts with revocation lists, names that are let in, and headers.
const revocationObjects = `
kind: Secret
metadata: {namespace: cc, name: a}
stringData: {ca.crt: ${ca client-a}}
---
kind: Secret
metadata: {namespace: cc, name: with}
stringData: {ca.crt: ${ca client-a}, ca.crl: ${crl client-a eve@client-a}}
---
kind: Secret
metadata: {namespace: cc, name: lists}
stringData: {ca.crl: ${crl client-a eve@client-a}}
---
kind: ConfigMap
metadata: {namespace: cc, name: a}
data: {ca.crt: ${ca client-a}}
---
kind: Route
metadata: {namespace: cc, name: lists}
spec: {host: lists.cc.test, to: {kind: Service, name: web}, tls: {termination: edge}}
---
kind: RoutePolicy
metadata: {namespace: cc, name: lists}
spec:
  targetRefs: [{group: route.openshift.io, kind: Route, name: lists}]
  authentication: {clientCertificate: {caConfigMap: a, crlSecret: lists}}
---
kind: Route
metadata: {namespace: cc, name: beside, annotations: {fairlead.dev/client-ca: with, fairlead.dev/client-certificate: Optional}}
spec: {host: beside.cc.test, to: {kind: Service, name: web}, tls: {termination: edge}}
---
kind: Route
metadata: {namespace: cc, name: same-ca, annotations: {fairlead.dev/client-ca: a}}
spec: {host: same.cc.test, to: {kind: Service, name: web}, tls: {termination: edge}}
---
kind: Route
metadata: {namespace: cc, name: names}
spec: {host: names.cc.test, to: {kind: Service, name: web}, tls: {termination: edge, insecureEdgeTerminationPolicy: Allow}}
---
kind: RoutePolicy
metadata: {namespace: cc, name: names}
spec:
  targetRefs: [{group: route.openshift.io, kind: Route, name: names}]
  authentication:
    clientCertificate:
      caSecret: a
      mode: Optional
      forward: XFCC
      sans:
      - {kind: URI, type: Prefix, value: "spiffe://example/ns/"}
      - {kind: DNS, value: Door.Example}
      - {kind: DNS, type: Suffix, value: .svc.example}
      - {kind: Email, value: ann@example.com}
      - {kind: IP, value: "198.51.100.7"}
      - {kind: IP, value: "2001:db8::7"}
---
kind: Route
metadata: {namespace: cc, name: both}
spec: {host: both.cc.test, to: {kind: Service, name: web}, tls: {termination: edge}}
---
kind: RoutePolicy
metadata: {namespace: cc, name: both}
spec:
  targetRefs: [{group: route.openshift.io, kind: Route, name: both}]
  authentication: {clientCertificate: {caSecret: a, subjects: [{value: CN=ann}], sans: [{kind: DNS, value: ann.example}], forward: None}}
---
kind: Route
metadata: {namespace: cc, name: pem}
spec: {host: pem.cc.test, to: {kind: Service, name: web}, tls: {termination: edge}}
---
kind: RoutePolicy
metadata: {namespace: cc, name: pem}
spec:
  targetRefs: [{group: route.openshift.io, kind: Route, name: pem}]
  authentication: {clientCertificate: {caSecret: a, forward: PEM}}
---
kind: Route
metadata: {namespace: cc, name: der}
spec: {host: der.cc.test, to: {kind: Service, name: web}, tls: {termination: edge}}
---
kind: RoutePolicy
metadata: {namespace: cc, name: der}
spec:
  targetRefs: [{group: route.openshift.io, kind: Route, name: der}]
  authentication: {clientCertificate: {caSecret: a, forward: DER, mode: Optional}}
`

const longNames = `
---
kind: Route
metadata: {namespace: cc, name: long}
spec: {host: long.cc.test, to: {kind: Service, name: web}, tls: {termination: edge}}
---
kind: RoutePolicy
metadata: {namespace: cc, name: long}
spec:
  targetRefs: [{group: route.openshift.io, kind: Route, name: long}]
  authentication: {clientCertificate: {caSecret: a, sans: [%s{kind: DNS, value: door.example}]}}
`

// revocationLines are what the hosts answer.
var revocationLines = []string{
	// Revoked certificates.
	"GET https://lists.cc.test/ as=alice@client-a -> 200",
	"GET https://lists.cc.test/ as=eve@client-a -> closed",
	"GET https://lists.cc.test/ as=mallory@client-b -> closed",
	"GET https://lists.cc.test/ as=carol@middle@client-a -> closed", // the middle has no list
	"GET https://beside.cc.test/ -> 200",
	"GET https://beside.cc.test/ as=alice@client-a -> 200",
	"GET https://beside.cc.test/ as=eve@client-a -> closed",
	"GET https://same.cc.test/ as=eve@client-a -> 200", // asks for no list
	"GET https://same.cc.test/ as=carol@middle@client-a -> 200",
	// Alternative names.
	"GET https://names.cc.test/ -> 403",
	"GET http://names.cc.test/ -> 403",
	"GET https://names.cc.test/ as=ann@client-a -> 403",
	"GET https://names.cc.test/ as=a~uri:spiffe://example/ns/x@client-a -> 200",
	"GET https://names.cc.test/ as=a~uri:spiffe://example/nsx/@client-a -> 403",
	"GET https://names.cc.test/ as=a~uri:https://e/spiffe://example/ns/x@client-a -> 403",
	"GET https://names.cc.test/ as=a~dns:spiffe.example~dns:door.example@client-a -> 200",
	"GET https://names.cc.test/ as=a~dns:DOOR.example@client-a -> 200",
	"GET https://names.cc.test/ as=a~dns:door.example.org@client-a -> 403",
	"GET https://names.cc.test/ as=a~uri:door.example@client-a -> 403",
	"GET https://names.cc.test/ as=door.example@client-a -> 403",
	"GET https://names.cc.test/ as=a~dns:x.svc.example@client-a -> 200",
	"GET https://names.cc.test/ as=a~dns:xsvc.example@client-a -> 403",
	"GET https://names.cc.test/ as=a~ip:198.51.100.7@client-a -> 200",
	"GET https://names.cc.test/ as=a~ip:198.51.100.8@client-a -> 403",
	"GET https://names.cc.test/ as=a~ip:2001:db8::7@client-a -> 200",
	"GET https://names.cc.test/ as=a~dns:198.51.100.7@client-a -> 403",
	"GET https://names.cc.test/ as=a~dns:door.example@client-b -> closed",
	"GET https://long.cc.test/ as=a~dns:door.example@client-a -> 200",
	"GET https://long.cc.test/ as=a~dns:door.example.org@client-a -> 403",
	"GET https://both.cc.test/ as=ann@client-a -> 403",
	"GET https://both.cc.test/ as=bob~dns:ann.example@client-a -> 403",
	"GET https://both.cc.test/ as=ann~dns:ann.example@client-a h:X-SSL-Client-CN=root h:ssl-client-verify=SUCCESS h:X_Forwarded_Client_Cert=root h:Client-Cert=root -> 200 seen:X-Ssl-Client-Cn= seen:Ssl-Client-Verify= seen:X-Forwarded-Client-Cert= seen:X_forwarded_client_cert= seen:Client-Cert=",
	"GET https://der.cc.test/ h:Client-Cert=root h:Client_Cert=root h:Client-Cert-Chain=root h:ssl-client-cert=root h:X-Forwarded-Client-Cert=root -> 200 seen:Client-Cert= seen:Client_cert= seen:Client-Cert-Chain= seen:Ssl-Client-Cert= seen:X-Forwarded-Client-Cert= seen:Ssl-Client-Verify=NONE",
}

func revocationBed(t *testing.T, version string) *bed {
	t.Helper()
	b := newBed(t, version, newMemory())
	b.start()
	// As many names as a policy may have: one value of a map.
	names := strings.Repeat("{kind: URI, value: "+strings.Repeat("a", 512)+"}, ", 7)
	all := objectsChange(t, revocationObjects+fmt.Sprintf(longNames, names))
	var services step
	if err := services.services([]string{"cc/web http=8080 web@198.18.250.60"}); err != nil {
		t.Fatal(err)
	}
	all.put = append(services.change.put, all.put...)
	b.apply(all)
	return b
}

// TestClientRevocation: revoked certificates and other names are kept out, pods learn what
// the policy says, and nothing of it needs a reload.
func TestClientRevocation(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := revocationBed(t, version)
		before := b.reloads()
		for _, line := range revocationLines {
			b.expectLine(line)
			b.expectLine(line + " ") // again, after what other lines left
		}
		checkForwarded(t, b)
		for _, change := range []struct{ objects, line string }{
			{"kind: Secret\nmetadata: {namespace: cc, name: lists}\nstringData: {ca.crl: ${crl client-a alice@client-a}}", "GET https://lists.cc.test/ as=alice@client-a -> closed"},
			{"kind: Secret\nmetadata: {namespace: cc, name: lists}\nstringData: {ca.crl: ${crl client-a}}", "GET https://lists.cc.test/ as=eve@client-a -> 200"},
			{"kind: Secret\nmetadata: {namespace: cc, name: lists}\nstringData: {ca.crl: ${crl-ended client-a}}", "GET https://lists.cc.test/ as=alice@client-a -> closed"},
			{"kind: Secret\nmetadata: {namespace: cc, name: lists}\nstringData: {ca.crl: junk}", "GET https://lists.cc.test/ -> 503"},
			{"kind: Secret\nmetadata: {namespace: cc, name: lists}\nstringData: {ca.crl: ${crl client-b}}", "GET https://lists.cc.test/ as=alice@client-a -> closed"},
			{"kind: Secret\nmetadata: {namespace: cc, name: lists}\nstringData: {other: x}", "GET https://lists.cc.test/ -> 503"},
		} {
			b.apply(objectsChange(t, change.objects))
			b.expectLine(change.line)
		}
		b.apply(change{del: []model.Object{parseObject("Secret", "cc/lists")}})
		b.expectLine("GET https://lists.cc.test/ as=alice@client-a -> 503")
		b.apply(objectsChange(t, "kind: Secret\nmetadata: {namespace: cc, name: lists}\nstringData: {ca.crl: ${crl client-a eve@client-a}}"))
		b.expectLine("GET https://lists.cc.test/ as=alice@client-a -> 200")
		b.apply(change{del: []model.Object{parseObject("ConfigMap", "cc/a")}})
		b.expectLine("GET https://lists.cc.test/ as=alice@client-a -> 503")
		b.apply(objectsChange(t, "kind: ConfigMap\nmetadata: {namespace: cc, name: a}\ndata: {ca.crt: ${ca client-a}}"))
		if n := b.reloads() - before; n > 0 && b.caps.DynamicBackends {
			t.Errorf("%d reloads", n)
		}
		// All of it is in the files, too.
		b.stop()
		b.start()
		for _, line := range revocationLines {
			b.expectLine(line)
		}
		checkForwarded(t, b)
	})
}

// checkForwarded reads what pods learn.
func checkForwarded(t *testing.T, b *bed) {
	t.Helper()
	seen := func(host, as, header string) (string, []byte) {
		t.Helper()
		c, err := pki().client(as)
		if err != nil {
			t.Fatal(err)
		}
		e, err := parseLine("GET https://" + host + "/ as=" + as + " -> 200")
		if err != nil {
			t.Fatal(err)
		}
		r := e.request.do(b.http, b.https)
		if r.pod == nil {
			t.Fatalf("%s answers %d, %v", host, r.status, r.err)
		}
		return r.pod.Header.Get(header), c.Certificate[0]
	}
	text, der := seen("names.cc.test", "a~uri:spiffe://example/ns/x~dns:n.example~uri:spiffe://example/a;b@client-a", "X-Forwarded-Client-Cert")
	sum := sha256.Sum256(der)
	if want := "Hash=" + hex.EncodeToString(sum[:]) + `;Subject="CN=a";DNS=n.example;URI=spiffe://example/ns/x;URI="spiffe://example/a;b"`; text != want {
		t.Errorf("X-Forwarded-Client-Cert: %s\nwant %s", text, want)
	}
	text, der = seen("pem.cc.test", "alice@client-a", "ssl-client-cert")
	plain, err := url.QueryUnescape(text)
	if block, _ := pem.Decode([]byte(plain)); err != nil || block == nil || !bytes.Equal(block.Bytes, der) || plain != string(pem.EncodeToMemory(block)) {
		t.Errorf("ssl-client-cert: %v %s", err, text)
	}
	text, der = seen("der.cc.test", "alice@client-a", "Client-Cert")
	if want := ":" + base64.StdEncoding.EncodeToString(der) + ":"; text != want {
		t.Errorf("Client-Cert: %s", text)
	}
}

// TestRevocationFindings: what is wrong with lists is said, with what happens now.
func TestRevocationFindings(t *testing.T) {
	t.Parallel()
	b := revocationBed(t, "haproxy")
	finding := func(lists, text string) {
		t.Helper()
		b.apply(objectsChange(t, "kind: Secret\nmetadata: {namespace: cc, name: lists}\nstringData: {ca.crl: "+lists+"}"))
		b.eventually("a finding: "+text, func() error {
			st, _ := b.statusOf(parseObject("Route", "cc/lists"))
			if !slices.ContainsFunc(st.Findings, func(f api.Finding) bool { return strings.Contains(f.Text(), text) }) {
				return fmt.Errorf("findings %v", st.Findings)
			}
			return nil
		})
	}
	finding("${crl-ended client-a}", "the revocation list of CN=client-a ended at")
	finding("${crl client-b}", "there is no revocation list of CN=client-a")
	// One that ends while nothing changes.
	soon := pki().revocations(t, "client-a", time.Now().Add(3*time.Second))
	finding(fmt.Sprintf("%q", soon), "the revocation list of CN=client-a ended at")
	b.expectLine("GET https://lists.cc.test/ as=alice@client-a -> closed")
	finding("junk", "has no revocation list in PEM")
	finding("${ca client-a}", `has a PEM block "CERTIFICATE"`)
}
