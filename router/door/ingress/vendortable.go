package ingress

import (
	"strings"

	"github.com/fairlead/fairlead/api"
)

// What to write instead of annotations that are not carried over.
const (
	insteadRoute      = "write a Route in place of the Ingress: it has spec.httpHeaders, alternateBackends and the like"
	insteadController = "spec.tuningOptions, spec.tlsSecurityProfile and spec.logging of the IngressController say it for all Routes"
	insteadNothing    = "Fairlead has no such feature"
	insteadAuth       = "replace it by fairlead.dev/basic-secret for passwords, or fairlead.dev/auth-url for an auth server"
	insteadCookie     = "the router writes a cookie of its own, which is HttpOnly; a RoutePolicy with affinity.cookie says what it looks like"
	insteadSnippet    = "configuration as text is never taken; write what it does as annotations of Routes or as spec.httpHeaders"
	differsPatterns   = "patterns of RE2 without % and ;. One that begins with one of some texts, and goes on with what is below a path, or ends, becomes a path, with letters in the case that they are written in; the path with the longest text at its beginning wins, and then the longest pattern"
	insteadHeaderList = "lists are of the address of the connection, or of the PROXY protocol"
	differsClients    = "a Secret of the Ingress's namespace, with ca.crt, and ca.crl for revocation lists; handshakes without a valid certificate fail; other Ingresses of the hosts ask for the same, or are closed"
	becomesClients    = "`authentication.clientCertificate`"
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
		"ssl-passthrough":  {carry: passthrough, becomes: "termination `passthrough`", differs: "what keeps clients away by looking at requests closes the paths then"},
		"backend-protocol": {carry: backendProtocol, becomes: "HTTPS, GRPCS: termination `reencrypt`; GRPC: `upstream.protocol`", differs: "with HTTPS and GRPCS the Ingress must have TLS; AUTO_HTTP and FCGI have no equivalent"},
		"use-regex":        {carry: useRegex, becomes: "paths of type Prefix and Exact, or `fairlead.dev/path-type: RegexIgnoreCase`", differs: differsPatterns},
		"load-balance": {
			carry:   oneOf(api.AnnotationBalance, map[string]string{"round_robin": "roundrobin", "ewma": "leastconn"}),
			becomes: "`balance`", differs: "ewma becomes leastconn",
		},
		"affinity":              {carry: affinity, becomes: "the sticky cookie", differs: "it is on without an annotation"},
		"session-cookie-name":   {carry: to(api.AnnotationCookieName), becomes: "`cookie_name`"},
		"canary":                {carry: isCanary, protects: enabled, becomes: "`fairlead.dev/canary` of the Routes with the same paths", differs: "alone, its paths answer 503"},
		"configuration-snippet": {carry: snippet(nginxSnippet), instead: insteadSnippet, protects: always},
		"server-snippet":        {carry: snippet(nginxSnippet), instead: insteadSnippet, protects: always, host: true},
		"stream-snippet":        {carry: snippet(nginxSnippet), instead: insteadSnippet, protects: always, host: true},
	}
	nginxRedirects(t)
	nginxRequests(t)
	nginxRetries(t)
	nginxCookies(t)
	nginxAnswers(t)
	nginxUpstream(t)
	nginxLimits(t)
	nginxAuthentication(t)
	nginxFirewall(t)
	add(t, vendorAnnotation{harmless: true}, `preserve-trailing-slash proxy-buffering proxy-request-buffering proxy-buffer-size proxy-buffers-number
		proxy-busy-buffers-size proxy-max-temp-file-size client-body-buffer-size service-upstream session-cookie-change-on-failure
		affinity-mode affinity-canary-behavior auth-keepalive auth-keepalive-share-vars auth-keepalive-requests auth-keepalive-timeout`)
	add(t, vendorAnnotation{instead: insteadSnippet, protects: always}, "modsecurity-snippet")
	add(t, vendorAnnotation{carry: ofCanary, becomes: "a part of `fairlead.dev/canary`"},
		"canary-by-header canary-by-header-value canary-by-header-pattern canary-by-cookie canary-weight canary-weight-total")
	add(t, vendorAnnotation{instead: "the router writes Connection itself"}, "connection-proxy-header")
	add(t, vendorAnnotation{instead: insteadController}, `ssl-ciphers ssl-prefer-server-ciphers proxy-ssl-ciphers proxy-ssl-protocols
		proxy-http-version`)
	nginxPages(t)
	nginxMirror(t)
	add(t, vendorAnnotation{carry: hashBy, becomes: "`fairlead.dev/hash-by`", differs: "one of $request_uri, $uri, $host, $remote_addr, $http_…, $cookie_…, $arg_…"}, "upstream-hash-by")
	add(t, vendorAnnotation{instead: "all pods share requests"}, "upstream-hash-by-subset upstream-hash-by-subset-size")
	nginxBandwidth(t)
	nginxTracing(t)
	add(t, vendorAnnotation{instead: insteadNothing}, `http2-push-preload fastcgi-index fastcgi-params-configmap enable-rewrite-log`)
	return t
}

func nginxRedirects(t map[string]vendorAnnotation) {
	const url, same = "`fairlead.dev/redirect`", "a $request_uri at the end is the one variable"
	t["ssl-redirect"] = vendorAnnotation{carry: redirect308, becomes: "`insecureEdgeTerminationPolicy`, `fairlead.dev/redirect-status: 308`"}
	t["force-ssl-redirect"] = vendorAnnotation{carry: forceRedirect, becomes: "as ssl-redirect", differs: "the Ingress must have TLS"}
	t["permanent-redirect"] = vendorAnnotation{carry: redirectTo(permanent, wholeAddress), becomes: url, differs: same + "; lists of clients come first"}
	t["temporal-redirect"] = vendorAnnotation{carry: redirectTo(temporary, wholeAddress), becomes: url, differs: same + "; lists of clients come first"}
	const codes = "300 and 304 to 306 are 301 or 302"
	t["permanent-redirect-code"] = vendorAnnotation{carry: redirectCode(permanent, 301), becomes: "`fairlead.dev/redirect-code`", differs: codes}
	t["temporal-redirect-code"] = vendorAnnotation{carry: redirectCode(temporary, 302), becomes: "`fairlead.dev/redirect-code`", differs: codes}
	t["app-root"] = vendorAnnotation{carry: appRoot, becomes: "`fairlead.dev/app-root`"}
	t["from-to-www-redirect"] = vendorAnnotation{carry: otherName, becomes: "`fairlead.dev/www`", differs: "hosts with www. and hosts without need an Ingress each"}
	add(t, vendorAnnotation{instead: "redirects name no port; a RoutePolicy sets redirects.https.port"}, "use-port-in-redirects")
	add(t, vendorAnnotation{instead: "redirects of the router have a host"}, "relative-redirects")
}

func nginxRequests(t map[string]vendorAnnotation) {
	t["rewrite-target"] = vendorAnnotation{
		carry: rewriteWhole, becomes: "`rewrite.full`; with captures `rewrite-target` or `fairlead.dev/rewrite`; an address: `fairlead.dev/redirect-pattern`", differs: differsPatterns,
	}
	t["upstream-vhost"] = vendorAnnotation{carry: podHost, becomes: "`fairlead.dev/host`", differs: "without a port, and without variables"}
	t["x-forwarded-prefix"] = vendorAnnotation{carry: forwardedPrefix, becomes: "`headers.request.set`", differs: "without variables"}
	t["custom-headers"] = vendorAnnotation{instead: "no ConfigMap is read for it; write a RoutePolicy with headers.response.set"}
	t["server-alias"] = vendorAnnotation{carry: serverAlias, becomes: "more hosts", differs: "of an Ingress with one host; names and `*.` names, no regular expressions"}
	t["proxy-body-size"] = vendorAnnotation{
		carry: maxBody, becomes: "`fairlead.dev/max-body`", protects: always,
		differs: "bodies that do not say their length get 411; without the annotation there is no limit",
	}
	t["proxy-connect-timeout"] = vendorAnnotation{carry: connectTimeout, becomes: "`fairlead.dev/connect-timeout`"}
	add(t, vendorAnnotation{carry: timeout, becomes: "`timeout`, `timeout-tunnel`", differs: "the longer one of both"}, "proxy-read-timeout proxy-send-timeout")
	t["enable-access-log"] = vendorAnnotation{carry: accessLog, becomes: "`fairlead.dev/access-log`"}
	t["enable-cors"] = vendorAnnotation{carry: corsOn(true, false), becomes: "`cors`", differs: "without a list all origins are admitted, but not with credentials"}
	t["cors-allow-origin"] = vendorAnnotation{carry: corsOrigins, becomes: "`cors.origins`", differs: "all origins are not admitted with credentials; a wrong origin admits none"}
	t["cors-allow-methods"] = vendorAnnotation{carry: corsNames(corsMethod, true, corsMethods), becomes: "`cors.methods`"}
	t["cors-allow-headers"] = vendorAnnotation{carry: corsNames(corsName, true, corsHeaders), becomes: "`cors.headers`"}
	t["cors-expose-headers"] = vendorAnnotation{carry: corsNames(corsName, false, corsExpose), becomes: "`cors.expose`"}
	t["cors-allow-credentials"] = vendorAnnotation{carry: corsCredentials, becomes: "`cors.credentials`"}
	t["cors-max-age"] = vendorAnnotation{carry: corsMaxAge, becomes: "`cors.maxAge`", differs: "24h at most, as browsers have it"}
}

func nginxLimits(t map[string]vendorAnnotation) {
	const differs = "refused requests get 429; each path counts by itself"
	t["limit-rps"] = vendorAnnotation{carry: limit(perSecond, nginxBurst), protects: always, becomes: "`limits.requests`", differs: differs}
	t["limit-rpm"] = vendorAnnotation{carry: limit(perMinute, nginxBurst), protects: always, becomes: "`limits.requests`", differs: differs}
	t["limit-burst-multiplier"] = vendorAnnotation{carry: burstMultiplier, protects: always, becomes: "`burst` of the limits, 5 times the rate without it"}
	t["limit-connections"] = vendorAnnotation{
		carry: limit(concurrent, 1), protects: always, becomes: "`limits.concurrent`; with passthrough `rate-limit-connections.concurrent-tcp`",
		differs: "requests are counted, not connections; " + differs,
	}
	add(t, vendorAnnotation{
		carry: limitExempt, becomes: "`exempt` of the limits", differs: "not for limit-connections; 100 items at most",
	}, "limit-allowlist limit-whitelist")
}

// nginxBurst is how many times the rate come at once.
const nginxBurst = 5

func nginxAuthentication(t map[string]vendorAnnotation) {
	add(t, vendorAnnotation{carry: addresses, protects: always, becomes: "`ip_allowlist`", differs: "a wrong item admits no client"}, "whitelist-source-range allowlist-source-range")
	t["denylist-source-range"] = vendorAnnotation{carry: denied, protects: always, becomes: "`fairlead.dev/deny`", differs: "a wrong item closes"}
	t["auth-type"] = vendorAnnotation{carry: authKind("basic"), protects: always, becomes: "passwords", differs: "digest closes"}
	t["auth-secret"] = vendorAnnotation{carry: authSecret, protects: always, becomes: "`fairlead.dev/basic-secret`", differs: "a Secret of the Ingress's namespace; counts without auth-type, too"}
	t["auth-secret-type"] = vendorAnnotation{carry: authSecretKind, protects: always, becomes: "is seen of the Secret"}
	t["auth-realm"] = vendorAnnotation{carry: keep(func(k *authKeys) *said { return &k.realm }), becomes: "`fairlead.dev/basic-realm`"}
	t["satisfy"] = vendorAnnotation{carry: satisfy, becomes: "`fairlead.dev/satisfy`", differs: "a client of the deny list is refused, whatever else it shows"}
	t["auth-url"] = vendorAnnotation{
		carry: authURL, protects: always, becomes: "`authentication.external`",
		differs: "a Service of the namespace, by http and its name in the cluster; without variables",
	}
	t["auth-method"] = vendorAnnotation{carry: authMethod, protects: always, becomes: "GET", differs: "others close"}
	t["auth-signin"] = vendorAnnotation{
		carry: keep(func(k *authKeys) *said { return &k.signIn }), becomes: "`external.signIn`",
		differs: "of variables $host and $scheme, and as a parameter $request_uri and $escaped_request_uri; the parameter is the whole address",
	}
	t["auth-signin-redirect-param"] = vendorAnnotation{carry: keep(func(k *authKeys) *said { return &k.param }), becomes: "`external.signIn.param`"}
	t["auth-response-headers"] = vendorAnnotation{carry: authHeaders, protects: always, becomes: "`external.responseHeaders`", differs: "16 at most; what clients send in them is removed"}
	t["auth-request-redirect"] = vendorAnnotation{carry: authRequestRedirect, becomes: "X-Auth-Request-Redirect with path and query of the request", differs: "other values are not sent"}
	t["auth-always-set-cookie"] = vendorAnnotation{carry: keep(func(k *authKeys) *said { return &k.always }), becomes: "`external.setCookieAlways`"}
	t["auth-cache-key"] = vendorAnnotation{
		carry: keep(func(k *authKeys) *said { return &k.cacheKey }), becomes: "`external.cache.key`",
		differs: "of $http_authorization, $remote_user, $http_x_api_key and $cookie_NAME; with other variables answers are not kept",
	}
	t["auth-cache-duration"] = vendorAnnotation{carry: keep(func(k *authKeys) *said { return &k.cacheTime }), becomes: "`external.cache.ttl`, `.negative`", differs: "1h and 10s at most"}
	add(t, vendorAnnotation{instead: "no ConfigMap is read for it, and without these headers the auth server may decide otherwise; a RoutePolicy has no such headers", protects: always}, "auth-proxy-set-headers")
	add(t, vendorAnnotation{instead: insteadSnippet, protects: always}, "auth-snippet")
	t["enable-global-auth"] = vendorAnnotation{
		carry: globalAuth, protects: enabled, becomes: "`authentication.none`",
		differs: "`false`, where the ClusterRoutePolicy with the authentication says `optOut: Allowed`; with `true` the paths answer 503, because the ConfigMap is not read",
	}
	clientAnnotations(t)
	t["auth-tls-match-cn"] = vendorAnnotation{carry: clientName, protects: always, host: true, becomes: "`clientCertificate.subjects`", differs: "CN= and a name, which must be the whole common name"}
	t["auth-tls-verify-depth"] = vendorAnnotation{carry: clientDepth, protects: always, host: true, becomes: "any depth", differs: "0 closes"}
	t["auth-tls-pass-certificate-to-upstream"] = vendorAnnotation{carry: clientPEM, becomes: "clientCertificate.forward", differs: "ssl-client-cert, beside ssl-client-verify, ssl-client-subject-dn and ssl-client-issuer-dn"}
}

// clientAnnotations are about certificates of clients, of two controllers.
func clientAnnotations(t map[string]vendorAnnotation) {
	t["auth-tls-secret"] = vendorAnnotation{carry: clientSecret, protects: always, host: true, becomes: becomesClients, differs: differsClients}
	t["auth-tls-verify-client"] = vendorAnnotation{carry: clientVerify, protects: enabled, host: true, becomes: "`clientCertificate.mode`", differs: "optional_no_ca closes"}
	add(t, vendorAnnotation{instead: "a handshake without a valid certificate fails before there is a page"}, "auth-tls-error-page")
}

func add(table map[string]vendorAnnotation, f vendorAnnotation, names string) {
	for name := range strings.FieldsSeq(names) {
		table[name] = f
	}
}
