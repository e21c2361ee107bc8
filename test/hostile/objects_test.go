package hostile

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	mathrand "math/rand/v2"
	"strings"
	"time"

	"github.com/fairlead/fairlead/router/policy"
	"github.com/fairlead/fairlead/test/bench/rig"
)

// poison are values that mean something to one of the parsers on the way.
var poison = []string{
	"max-age=1;\nincludeSubDomains", "max-age=1;\r\nincludeSubDomains", "a\tb", "a\x00b", "a\fb", "\x1b[2J", "10.0.0.1,10.0.0.2",
	"'\"\\", "%[src]", "%FL%", "$(id)", "; del map", "|", "#", strings.Repeat("a", 10_000), "1ms", "-1", "99999999999999999999", "0", "true", "🜁",
}

func (a *attacker) objectHarms() []*harm {
	return []*harm{
		{name: "annotations", every: 100 * time.Millisecond, try: a.annotate},
		{name: "slow key", every: 2 * time.Second, try: a.slowKeys},
		{name: "large chain", every: time.Second, try: a.largeChain},
		{name: "CA bundles", every: time.Second, try: a.bundles},
		{name: "endpoints", every: 200 * time.Millisecond, try: a.endpoints},
		{name: "health checks", every: 500 * time.Millisecond, try: a.checks},
		{name: "hosts", every: 200 * time.Millisecond, try: a.hosts},
		{name: "Ingress paths", every: 5 * time.Second, try: a.ingressPaths},
		{name: "Secrets", every: time.Second, try: a.secrets},
		{name: "Ingress Secrets", every: 5 * time.Second, try: a.ingressSecrets},
	}
}

// annotate puts a hostile value into each annotation in turn.
func (a *attacker) annotate(ctx context.Context, n int) error {
	keys := policy.Annotations()
	key, value := keys[n%len(keys)].Key, poison[mathrand.IntN(len(poison))]
	name := fmt.Sprintf("annotated%d", n%20)
	annotations := fmt.Sprintf("%q: %q", key, value)
	if value == "a\x00b" {
		annotations = fmt.Sprintf(`%q: "a\0b"`, key)
	}
	spec := "  tls: {termination: edge, insecureEdgeTerminationPolicy: Allow}"
	return apply(ctx, attackingUser, a.route(name, name+".tenant.example.com", annotations, spec))
}

// slowKey is a certificate whose key costs a server as much as can be had: 16384
// bits. Looking for primes of that size takes minutes of a processor on an
// unlucky day, and these need not be secret. They are the first five after
// 13 << 3273; five is as many as OpenSSL takes.
func slowKey(ca *rig.Authority, host string) (tlsPair, error) {
	key := &rsa.PrivateKey{PublicKey: rsa.PublicKey{N: big.NewInt(1), E: 65537}}
	one, phi := big.NewInt(1), big.NewInt(1)
	for _, offset := range []int64{861, 2615, 4367, 4877, 11441} {
		prime := new(big.Int).Lsh(big.NewInt(13), 3273)
		prime.Add(prime, big.NewInt(offset))
		key.Primes = append(key.Primes, prime)
		key.N.Mul(key.N, prime)
		phi.Mul(phi, new(big.Int).Sub(prime, one))
	}
	key.D = new(big.Int).ModInverse(big.NewInt(int64(key.E)), phi)
	key.Precompute()
	cert, err := ca.Certify(host, &key.PublicKey)
	if err != nil {
		return tlsPair{}, err
	}
	private := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	return tlsPair{cert, string(private)}, nil
}

func (a *attacker) slowKeys(ctx context.Context, _ int) error {
	return apply(ctx, attackingUser, a.route("slow", "slow.tenant.example.com", "", a.tls(a.slow)))
}

func (a *attacker) tls(pair tlsPair) string {
	return fmt.Sprintf("  tls: {termination: edge, certificate: %q, key: %q}", pair.cert, pair.key)
}

// bundle returns certificates of about so many bytes.
func bundle(ca *rig.Authority, size int) (string, error) {
	var b strings.Builder
	cert, _, _, err := ca.Issue("member.tenant.example.com")
	for err == nil && b.Len() < size {
		b.WriteString(cert)
	}
	return b.String(), err
}

// largeChain updates a certificate with a chain that no router takes: as large as a Route's may be, and in every tenth
// turn as large as a request may be, which the API server refuses.
func (a *attacker) largeChain(ctx context.Context, n int) error {
	cert, key, _, err := a.ca.Issue("large.tenant.example.com")
	if err != nil {
		return err
	}
	chain := a.big[:120<<10] + strings.Repeat("\n", n%7)
	if n%10 == 9 {
		chain = a.big + strings.Repeat("\n", 400<<10+n%7)
	}
	return a.sendRoute(ctx, "large", map[string]any{"termination": "edge", "certificate": cert, "key": key, "caCertificate": chain})
}

// bundles makes twenty Routes that verify pods by bundles as large as may be.
func (a *attacker) bundles(ctx context.Context, n int) error {
	return a.sendRoute(ctx, fmt.Sprintf("bundle%d", n%20), map[string]any{"termination": "reencrypt", "destinationCACertificate": a.big})
}

func (a *attacker) sendRoute(ctx context.Context, name string, tls map[string]any) error {
	return send(ctx, "route.openshift.io/v1", "Route", "routes", name, nil, map[string]any{
		"host": name + ".tenant.example.com", "to": map[string]any{"kind": "Service", "name": "pods"}, "tls": tls,
	})
}

// endpoints moves the Service of all these Routes.
func (a *attacker) endpoints(ctx context.Context, n int) error {
	return apply(ctx, attackingUser, a.service("pods", a.pods[n%len(a.pods):]))
}

// checks asks for health checks as often as can be written.
func (a *attacker) checks(ctx context.Context, n int) error {
	name := fmt.Sprintf("checked%d", n%20)
	return apply(ctx, attackingUser, a.route(name, name+".tenant.example.com", "router.openshift.io/haproxy.health.check.interval: 1ms", ""))
}

// hosts claims the victim's hosts in every form, and one host of its own by
// many Routes, of which all but one lose.
func (a *attacker) hosts(ctx context.Context, n int) error {
	victim := fmt.Sprintf("v%d.%s", n%routes, domain)
	claims := []string{"", "  path: /", "  path: /text", "  path: //text", "  wildcardPolicy: Subdomain", "  tls: {termination: passthrough}", "  path: /\n  tls: {termination: edge}"}
	if n%2 == 0 {
		name := fmt.Sprintf("thief%d", n%50)
		return apply(ctx, attackingUser, a.route(name, victim, "", claims[n/2%len(claims)]))
	}
	name := fmt.Sprintf("many%d", n%50)
	return apply(ctx, attackingUser, a.route(name, "many.tenant.example.com", fmt.Sprintf("turn: '%d'", n), ""))
}

// secrets names more Secrets than the router watches, all of which it may read.
func (a *attacker) secrets(ctx context.Context, n int) error {
	name := fmt.Sprintf("named%d", n%300)
	return apply(ctx, attackingUser, a.route(name, name+".tenant.example.com", "", "  tls: {termination: edge, externalCertificate: {name: "+name+"}}"))
}

// ingressPaths is an Ingress about as large as the API server takes.
func (a *attacker) ingressPaths(ctx context.Context, n int) error {
	paths := make([]any, 5000)
	for i := range paths {
		paths[i] = a.path(fmt.Sprintf("/p%d-%d", n, i))
	}
	ballast := map[string]any{"ballast": strings.Repeat("x", 200<<10)}
	return a.sendIngress(ctx, "paths", ballast, map[string]any{"rules": []any{map[string]any{
		"host": "paths.tenant.example.com", "http": map[string]any{"paths": paths},
	}}})
}

// ingressSecrets names thousands of Secrets that are not there.
func (a *attacker) ingressSecrets(ctx context.Context, n int) error {
	tls := make([]any, 5000)
	for i := range tls {
		tls[i] = map[string]any{"secretName": fmt.Sprintf("s%d-%d", n, i)}
	}
	return a.sendIngress(ctx, "secrets", nil, map[string]any{"tls": tls, "rules": []any{map[string]any{
		"host": "secrets.tenant.example.com", "http": map[string]any{"paths": []any{a.path("/")}},
	}}})
}

func (a *attacker) path(path string) any {
	service := map[string]any{"name": "pods", "port": map[string]any{"number": 80}}
	return map[string]any{"path": path, "pathType": "Prefix", "backend": map[string]any{"service": service}}
}

func (a *attacker) sendIngress(ctx context.Context, name string, annotations, spec map[string]any) error {
	spec["ingressClassName"] = "openshift-default"
	return send(ctx, "networking.k8s.io/v1", "Ingress", "ingresses", name, annotations, spec)
}
