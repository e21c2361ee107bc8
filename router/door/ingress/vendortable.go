package ingress

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	routev1 "github.com/openshift/api/route/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/policy"
)

// What to write instead of annotations that are not carried over.
const (
	insteadRoute       = "write a Route in place of the Ingress: it has spec.httpHeaders, alternateBackends and the like"
	insteadHeaders     = "write a Route, whose spec.httpHeaders sets headers"
	insteadController  = "spec.tuningOptions, spec.tlsSecurityProfile and spec.logging of the IngressController say it for all Routes"
	insteadNothing     = "Fairlead has no such feature"
	insteadPod         = "Fairlead has no such feature; let the application answer so"
	insteadAuth        = "replace it by fairlead.dev/basic-secret for passwords, or fairlead.dev/auth-url for an auth server"
	insteadCertificate = "client certificates are asked for by a whole IngressController; put an authenticating proxy before the pods"
	insteadCookie      = "the cookie is HttpOnly, ends with the session and is for the whole host"
	insteadDeny        = "Fairlead has lists of who is admitted only: " + api.AnnotationAllowlist
	insteadSnippet     = "configuration as text is never taken; write what it does as annotations of Routes or as spec.httpHeaders"
	insteadCA          = "the CA of the pods: " + annotationDestinationCA + ", the name in their certificate: " + api.AnnotationServerName
	insteadHeaderList  = "lists are of the address that the connection, or the PROXY protocol, tells"
	insteadRewrite     = "the rest of the path is kept behind the target"
)

// vendorTable returns what becomes of one controller's annotations.
func vendorTable(prefix string) map[string]vendorAnnotation {
	switch prefix {
	case prefixNginx:
		return nginxTable()
	case prefixHAProxy:
		return haproxyTable()
	case prefixHAProxy2:
		return haproxyIngressTable()
	}
	return nil
}

func nginxTable() map[string]vendorAnnotation {
	t := map[string]vendorAnnotation{
		"ssl-redirect":           {carry: redirect},
		"force-ssl-redirect":     {carry: forceRedirect},
		"ssl-passthrough":        {carry: passthrough},
		"backend-protocol":       {carry: backendProtocol},
		"rewrite-target":         {carry: rewriteTarget, instead: insteadRewrite},
		"use-regex":              {carry: useRegex},
		"whitelist-source-range": {carry: addresses, protects: always},
		"allowlist-source-range": {carry: addresses, protects: always},
		"proxy-read-timeout":     {carry: timeout},
		"proxy-send-timeout":     {carry: timeout},
		"load-balance":           {carry: oneOf(api.AnnotationBalance, map[string]string{"round_robin": "roundrobin", "ewma": "leastconn"})},
		"affinity":               {carry: affinity},
		"session-cookie-name":    {carry: to(api.AnnotationCookieName)},
		"session-cookie-samesite": {
			carry: oneOf(api.AnnotationCookieSameSite, map[string]string{"None": "None", "Lax": "Lax", "Strict": "Strict"}),
		},
		"limit-connections":     {carry: limit(api.AnnotationLimitConcurrent, 1, 1), protects: always},
		"limit-rps":             {carry: limit(api.AnnotationLimitRateHTTP, 10, 1), protects: always},
		"limit-rpm":             {carry: limit(api.AnnotationLimitRateHTTP, 1, 6), protects: always},
		"canary":                {instead: "a Route shares its traffic by alternateBackends and weights", protects: enabled},
		"configuration-snippet": {carry: snippet(nginxSnippet), instead: insteadSnippet, protects: always},
		"server-snippet":        {carry: snippet(nginxSnippet), instead: insteadSnippet, protects: always, host: true},
		"stream-snippet":        {carry: snippet(nginxSnippet), instead: insteadSnippet, protects: always, host: true},
		"proxy-ssl-verify":      {carry: verify},
	}
	add(t, vendorAnnotation{instead: "Fairlead has no web application firewall", protects: enabled}, "enable-modsecurity enable-owasp-core-rules")
	add(t, vendorAnnotation{harmless: true}, `preserve-trailing-slash proxy-buffering proxy-request-buffering proxy-buffer-size proxy-buffers-number
		proxy-busy-buffers-size proxy-max-temp-file-size client-body-buffer-size service-upstream session-cookie-change-on-failure
		affinity-mode affinity-canary-behavior enable-access-log enable-rewrite-log limit-burst-multiplier`)
	add(t, vendorAnnotation{instead: insteadAuth, protects: always}, "auth-type auth-secret auth-url auth-snippet")
	add(t, vendorAnnotation{instead: insteadCertificate, protects: always, host: true}, "auth-tls-secret auth-tls-match-cn")
	add(t, vendorAnnotation{instead: insteadCertificate, protects: enabled, host: true}, "auth-tls-verify-client")
	add(t, vendorAnnotation{instead: insteadAuth, protects: enabled}, "enable-global-auth")
	add(t, vendorAnnotation{instead: insteadAuth}, `auth-secret-type auth-realm auth-signin auth-signin-redirect-param auth-response-headers auth-method
		auth-proxy-set-headers auth-request-redirect auth-always-set-cookie auth-cache-key auth-cache-duration auth-keepalive auth-keepalive-share-vars
		auth-keepalive-requests auth-keepalive-timeout satisfy auth-tls-verify-depth auth-tls-pass-certificate-to-upstream auth-tls-error-page`)
	add(t, vendorAnnotation{instead: insteadDeny, protects: always}, "denylist-source-range")
	add(t, vendorAnnotation{instead: insteadSnippet, protects: always}, "modsecurity-snippet")
	add(t, vendorAnnotation{instead: insteadCookie}, `session-cookie-path session-cookie-domain session-cookie-secure session-cookie-max-age
		session-cookie-expires session-cookie-conditional-samesite-none`)
	add(t, vendorAnnotation{instead: insteadRoute}, "canary-by-header canary-by-header-value canary-by-header-pattern canary-by-cookie canary-weight canary-weight-total")
	add(t, vendorAnnotation{instead: insteadHeaders}, "custom-headers x-forwarded-prefix upstream-vhost connection-proxy-header")
	add(t, vendorAnnotation{instead: insteadPod}, `app-root permanent-redirect permanent-redirect-code temporal-redirect temporal-redirect-code from-to-www-redirect
		relative-redirects use-port-in-redirects enable-cors cors-allow-origin cors-allow-methods cors-allow-headers cors-expose-headers cors-allow-credentials
		cors-max-age proxy-body-size proxy-cookie-domain proxy-cookie-path proxy-redirect-from proxy-redirect-to`)
	add(t, vendorAnnotation{instead: "give each host its own rule"}, "server-alias")
	add(t, vendorAnnotation{instead: insteadCA}, `proxy-ssl-secret proxy-ssl-verify-depth proxy-ssl-name proxy-ssl-server-name`)
	add(t, vendorAnnotation{instead: insteadController}, `proxy-connect-timeout ssl-ciphers ssl-prefer-server-ciphers proxy-ssl-ciphers proxy-ssl-protocols
		custom-http-errors disable-proxy-intercept-errors proxy-http-version`)
	add(t, vendorAnnotation{instead: "use " + api.AnnotationBalance}, "upstream-hash-by upstream-hash-by-subset upstream-hash-by-subset-size")
	add(t, vendorAnnotation{instead: insteadNothing}, `http2-push-preload fastcgi-index fastcgi-params-configmap limit-allowlist limit-whitelist limit-rate
		limit-rate-after default-backend enable-opentelemetry opentelemetry-operation-name opentelemetry-trust-incoming-span mirror-target mirror-host
		mirror-request-body modsecurity-transaction-id proxy-next-upstream proxy-next-upstream-tries proxy-next-upstream-timeout`)
	return t
}

// haproxyTable is that of HAProxy Technologies' controller.
func haproxyTable() map[string]vendorAnnotation {
	t := map[string]vendorAnnotation{
		"allow-list": {carry: addresses, protects: always}, "whitelist": {carry: addresses, protects: always},
		"ssl-redirect": {carry: redirect}, "ssl-passthrough": {carry: passthrough}, "server-ssl": {carry: serverTLS},
		"timeout-server": {carry: to(api.AnnotationTimeout)}, "timeout-tunnel": {carry: to(api.AnnotationTimeoutTunnel)},
		"check-interval": {carry: to(api.AnnotationCheckInterval)}, "load-balance": {carry: algorithm},
		"cookie-persistence": {carry: to(api.AnnotationCookieName)},
		"pod-maxconn":        {carry: to(api.AnnotationPodConnections), instead: "it counts for each router by itself"},
		"route-acl":          {instead: "HAProxy's conditions are never taken; write a Route for each case", protects: always},
		"src-ip-header":      {carry: sourceHeader, protects: always},
		"server-ca":          {carry: verify},
	}
	add(t, vendorAnnotation{carry: snippet(haproxySnippet), instead: insteadSnippet, protects: always}, "backend-config-snippet")
	add(t, vendorAnnotation{carry: snippet(haproxySnippet), instead: insteadSnippet, protects: always, host: true}, "frontend-config-snippet global-config-snippet")
	add(t, vendorAnnotation{harmless: true}, "check forwarded-for cookie-persistence-no-dynamic dontlognull request-capture request-capture-len")
	add(t, vendorAnnotation{instead: insteadAuth, protects: always}, "auth-type auth-secret client-ca")
	add(t, vendorAnnotation{instead: insteadAuth}, "auth-realm client-crt-optional")
	add(t, vendorAnnotation{instead: insteadDeny, protects: always}, "deny-list blacklist")
	add(t, vendorAnnotation{
		instead: "use " + api.AnnotationLimitRateHTTP + ", which counts in 10 seconds, with " + api.AnnotationLimit, protects: always,
	}, "rate-limit-requests")
	add(t, vendorAnnotation{instead: insteadNothing}, "rate-limit-period rate-limit-size rate-limit-status-code rate-limit-whitelist send-proxy-protocol scale-server-slots check-http")
	add(t, vendorAnnotation{instead: insteadHeaders}, "request-set-header response-set-header set-host")
	add(t, vendorAnnotation{instead: "use " + api.AnnotationRewrite}, "path-rewrite")
	add(t, vendorAnnotation{instead: insteadPod}, `request-redirect request-redirect-code ssl-redirect-code ssl-redirect-port cors-enable cors-allow-origin
		cors-allow-methods cors-allow-headers cors-allow-credentials cors-max-age cors-respond-to-options`)
	add(t, vendorAnnotation{instead: insteadCA}, "server-crt")
	add(t, vendorAnnotation{instead: "set appProtocol: kubernetes.io/h2c of the Service's port"}, "server-proto")
	add(t, vendorAnnotation{instead: insteadController}, "timeout-connect timeout-check")
	return t
}

// haproxyIngressTable is that of the community's HAProxy Ingress.
func haproxyIngressTable() map[string]vendorAnnotation {
	t := map[string]vendorAnnotation{
		"allowlist-source-range": {carry: addresses, protects: always}, "whitelist-source-range": {carry: addresses, protects: always},
		"ssl-redirect": {carry: redirect}, "ssl-passthrough": {carry: passthrough}, "secure-backends": {carry: serverTLS},
		"rewrite-target": {carry: rewriteTarget},
		"timeout-server": {carry: to(api.AnnotationTimeout)}, "timeout-tunnel": {carry: to(api.AnnotationTimeoutTunnel)},
		"health-check-interval": {carry: to(api.AnnotationCheckInterval)}, "balance-algorithm": {carry: algorithm},
		"affinity": {carry: affinity}, "session-cookie-name": {carry: to(api.AnnotationCookieName)},
		"maxconn-server":    {carry: to(api.AnnotationPodConnections), instead: "it counts for each router by itself"},
		"limit-connections": {carry: limit(api.AnnotationLimitConcurrent, 1, 1), protects: always},
		"limit-rps":         {carry: limit(api.AnnotationLimitRateHTTP, 10, 1), protects: always},
		"waf":               {instead: "Fairlead has no web application firewall", protects: enabled},
		"path-type":         {carry: pathType},
	}
	add(t, vendorAnnotation{carry: snippet(haproxySnippet), instead: insteadSnippet, protects: always}, "config-backend")
	add(t, vendorAnnotation{carry: snippet(haproxySnippet), instead: insteadSnippet, protects: always, host: true}, "config-frontend config-tcp config-global config-defaults")
	add(t, vendorAnnotation{carry: verify}, "secure-verify-ca-secret secure-verify-hostname")
	add(t, vendorAnnotation{instead: "a Route does not look at headers", protects: always}, "http-header-match http-header-match-regex")
	add(t, vendorAnnotation{instead: insteadHeaderList, protects: always}, "allowlist-source-header")
	add(t, vendorAnnotation{harmless: true}, "forwardfor drain-support drain-support-redispatch waf-mode")
	add(t, vendorAnnotation{instead: insteadAuth, protects: always}, "auth-secret auth-url oauth")
	add(t, vendorAnnotation{instead: insteadCertificate, protects: always, host: true}, "auth-tls-secret")
	add(t, vendorAnnotation{instead: insteadAuth}, `auth-realm auth-method auth-signin auth-headers-request auth-headers-succeed auth-headers-fail oauth-uri-prefix
		oauth-headers auth-tls-verify-client auth-tls-cert-header auth-tls-error-page auth-tls-strict`)
	add(t, vendorAnnotation{instead: insteadDeny, protects: always}, "denylist-source-range")
	add(t, vendorAnnotation{instead: insteadHeaders}, "headers original-forwarded-for-hdr")
	add(t, vendorAnnotation{instead: "reencrypt: " + annotationTermination + "; HTTP/2: appProtocol kubernetes.io/h2c of the Service's port"}, "backend-protocol")
	add(t, vendorAnnotation{instead: insteadPod}, `redirect-to redirect-from redirect-from-regex app-root no-tls-redirect-locations cors-enable cors-allow-origin
		cors-allow-methods cors-allow-headers cors-allow-credentials cors-max-age cors-expose-headers proxy-body-size`)
	add(t, vendorAnnotation{instead: insteadRoute}, "blue-green-deploy blue-green-balance blue-green-mode blue-green-header blue-green-cookie")
	add(t, vendorAnnotation{instead: insteadCA}, "secure-crt-secret secure-sni")
	add(t, vendorAnnotation{instead: insteadCookie}, "session-cookie-strategy session-cookie-dynamic session-cookie-shared session-cookie-preserve session-cookie-keywords session-cookie-same-site session-cookie-domain session-cookie-value-strategy")
	add(t, vendorAnnotation{instead: "use " + api.AnnotationHSTS}, "hsts hsts-max-age hsts-include-subdomains hsts-preload")
	add(t, vendorAnnotation{instead: insteadNothing}, "limit-whitelist proxy-protocol fcgi-app tcp-service-port cert-signer server-alias maxqueue-server timeout-queue")
	return t
}

func add(table map[string]vendorAnnotation, f vendorAnnotation, names string) {
	for name := range strings.FieldsSeq(names) {
		table[name] = f
	}
}

func redirect(value string, into *carried) error {
	on, err := strconv.ParseBool(value)
	switch {
	case err != nil:
		return fmt.Errorf("%q is neither true nor false", value)
	case on:
		into.insecure = routev1.InsecureEdgeTerminationPolicyRedirect
	case into.insecure == "":
		into.insecure = routev1.InsecureEdgeTerminationPolicyAllow
	}
	return nil
}

// forceRedirect is for Ingresses without TLS, too, which ends in front of the
// controller then. That is unknown here.
func forceRedirect(value string, into *carried) error {
	if on, err := strconv.ParseBool(value); err == nil && on && !into.tls() {
		return errors.New("plain HTTP is redirected where the Ingress has TLS; add spec.tls")
	}
	return redirect(value, into)
}

func passthrough(value string, into *carried) error {
	on, err := strconv.ParseBool(value)
	if err != nil {
		return fmt.Errorf("%q is neither true nor false", value)
	}
	if on {
		into.annotations[annotationTermination] = string(routev1.TLSTerminationPassthrough) // before TLS to the pods
	}
	return nil
}

func serverTLS(value string, into *carried) error {
	on, err := strconv.ParseBool(value)
	switch {
	case err != nil:
		return fmt.Errorf("%q is neither true nor false", value)
	case on && !into.tls():
		return errors.New("TLS to the pods needs TLS to the router; add spec.tls")
	case on:
		into.set(annotationTermination, string(routev1.TLSTerminationReencrypt), nil)
	}
	return nil
}

func backendProtocol(value string, into *carried) error {
	switch strings.ToUpper(value) {
	case "HTTP":
		return nil
	case "HTTPS", "GRPCS":
		return serverTLS("true", into)
	case "GRPC":
		return errors.New("set appProtocol: kubernetes.io/h2c of the Service's port")
	}
	return fmt.Errorf("%q has no equivalent; there are HTTP, HTTPS and GRPCS", value)
}

// snippet judges configuration as text: an error closes the Ingress.
func snippet(judge func(string) error) func(string, *carried) error {
	return func(text string, into *carried) error {
		into.nothing = true
		return judge(text)
	}
}

// sourceHeader matters where there is a list, or a limit by address.
func sourceHeader(_ string, into *carried) error {
	for key := range into.ingress.Annotations {
		if _, name, ok := cutPrefix(key); ok && (strings.Contains(name, "list") || strings.Contains(name, "limit")) {
			return errors.New(insteadHeaderList)
		}
	}
	if keepsOut(into.ingress.Annotations) {
		return errors.New(insteadHeaderList)
	}
	return nil
}

// addresses turns commas into blanks. Single items the routers judge: a wrong
// one admits nobody.
func addresses(value string, into *carried) error {
	list := strings.Join(strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' }), " ")
	if list == "" {
		return errors.New("the list is empty")
	}
	if _, _, err := policy.Allowlist(list); err != nil {
		return err
	}
	into.set(api.AnnotationAllowlist, list, nil)
	return nil
}

// timeout reads seconds. The longer of the times to read and to write counts,
// for websockets, too.
func timeout(value string, into *carried) error {
	n, err := strconv.ParseUint(value, 10, 31)
	if err != nil || n == 0 {
		return fmt.Errorf("%q is not a number of seconds", value)
	}
	longer := func(a, b string) bool { return seconds(a) > seconds(b) }
	text := strconv.FormatUint(n, 10) + "s"
	into.set(api.AnnotationTimeout, text, longer)
	into.set(api.AnnotationTimeoutTunnel, text, longer)
	return nil
}

func seconds(text string) time.Duration {
	d, err := api.ParseTime(text)
	if err != nil {
		return 0
	}
	return d
}

func affinity(value string, _ *carried) error {
	if value != "cookie" {
		return fmt.Errorf("%q has no equivalent; there is cookie, which is on without an annotation", value)
	}
	return nil
}

func algorithm(value string, into *carried) error {
	word, _, _ := strings.Cut(value, " ")
	same := map[string]string{}
	for _, name := range []string{"roundrobin", "leastconn", "source", "random"} {
		same[name] = name
	}
	return oneOf(api.AnnotationBalance, same)(word, into)
}

// limit multiplies a limit to the time that ours counts in. The smaller one
// counts.
func limit(key string, times, by int) func(string, *carried) error {
	return func(value string, into *carried) error {
		n, err := strconv.ParseInt(value, 10, 20)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is not a whole number from 1", value)
		}
		into.set(api.AnnotationLimit, "true", nil)
		into.set(key, strconv.Itoa(max(int(n)*times/by, 1)), func(a, b string) bool {
			x, _ := strconv.Atoi(a)
			y, _ := strconv.Atoi(b)
			return x < y
		})
		return nil
	}
}
