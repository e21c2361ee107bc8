package ingress

import (
	"maps"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/policy"
)

// haproxyTable is that of HAProxy Technologies' controller.
func haproxyTable() map[string]vendorAnnotation {
	t := map[string]vendorAnnotation{
		"ssl-redirect":      {carry: redirect, becomes: "`insecureEdgeTerminationPolicy`"},
		"ssl-redirect-code": {carry: httpsCode, becomes: "`fairlead.dev/redirect-status`"},
		"ssl-redirect-port": {carry: httpsPort, becomes: "`redirects.https.port`"},
		"ssl-passthrough":   {carry: passthrough, becomes: "termination `passthrough`", differs: "what keeps clients away by looking at requests closes the paths then"},
		"server-ssl":        {carry: serverTLS, becomes: "termination `reencrypt`", differs: "the Ingress must have TLS"},
		"timeout-server":    {carry: to(api.AnnotationTimeout), becomes: "`timeout`"}, "timeout-tunnel": {carry: to(api.AnnotationTimeoutTunnel), becomes: "`timeout-tunnel`"},
		"timeout-connect":    {carry: to(policy.AnnotationConnectTimeout), becomes: "`fairlead.dev/connect-timeout`"},
		"check-interval":     {carry: to(api.AnnotationCheckInterval), becomes: "`haproxy.health.check.interval`"},
		"load-balance":       {carry: algorithm, becomes: "`balance`", differs: "roundrobin, leastconn, source and random"},
		"cookie-persistence": {carry: to(api.AnnotationCookieName), becomes: "`cookie_name`"},
		"pod-maxconn":        {carry: to(api.AnnotationPodConnections), becomes: "`pod-concurrent-connections`", instead: "it counts for each router by itself"},
		"route-acl":          {instead: "HAProxy's conditions are never taken; write a Route for each case", protects: always},
		"src-ip-header":      {carry: sourceHeader, differs: insteadHeaderList, protects: always},
		"server-ca":          {carry: verify, becomes: "termination `reencrypt` with `route.openshift.io/destination-ca-certificate-secret`", differs: "without both, the paths answer 503"},
		"set-host":           {carry: podHost, becomes: "`fairlead.dev/host`", differs: "without a port, and without variables"},
		"request-set-header": {carry: headerLines(requestHeaders), becomes: "`headers.request.set`", differs: "text without HAProxy's variables"},
		"response-set-header": {
			carry: headerLines(responseHeaders), becomes: "`headers.response.set`", differs: "text without HAProxy's variables",
		},
		"request-redirect":      {carry: redirectTo(temporary, sameAddress), becomes: "`redirects.rules`", differs: "a site, whose path and query stay; lists of clients come first"},
		"request-redirect-code": {carry: redirectCode(temporary, 302), becomes: "`redirects.rules` with code"},
	}
	maps.Copy(t, haproxyPolicies())
	haproxyUpstream(t)
	add(t, vendorAnnotation{carry: addresses, protects: always, becomes: "`ip_allowlist`", differs: "a wrong item admits no client"}, "allow-list whitelist")
	add(t, vendorAnnotation{carry: denied, protects: always, becomes: "`fairlead.dev/deny`", differs: "a wrong item closes"}, "deny-list blacklist")
	add(t, vendorAnnotation{carry: snippet(haproxySnippet), instead: insteadSnippet, protects: always}, "backend-config-snippet")
	add(t, vendorAnnotation{carry: snippet(haproxySnippet), instead: insteadSnippet, protects: always, host: true}, "frontend-config-snippet global-config-snippet")
	add(t, vendorAnnotation{harmless: true}, "check forwarded-for cookie-persistence-no-dynamic dontlognull request-capture request-capture-len rate-limit-size scale-server-slots")
	t["client-ca"] = vendorAnnotation{carry: clientSecret, protects: always, host: true, becomes: becomesClients, differs: differsClients}
	t["client-crt-optional"] = vendorAnnotation{carry: clientOptional, becomes: "`clientCertificate.mode`"}
	add(t, vendorAnnotation{carry: checkHTTP, becomes: "`fairlead.dev/health-path`", differs: "the method is GET, the statuses are 200 to 399, and the router asks in place of HAProxy"}, "check-http")
	add(t, vendorAnnotation{instead: "use " + api.AnnotationRewrite}, "path-rewrite")
	add(t, vendorAnnotation{instead: insteadController}, "timeout-check")
	return t
}

func haproxyPolicies() map[string]vendorAnnotation {
	return map[string]vendorAnnotation{
		"auth-type":           {carry: authKind("basic-auth"), protects: always, becomes: "passwords"},
		"auth-secret":         {carry: authSecret, protects: always, becomes: "`fairlead.dev/basic-secret`", differs: "a Secret of the Ingress's namespace"},
		"auth-realm":          {carry: keep(func(k *authKeys) *said { return &k.realm }), becomes: "`fairlead.dev/basic-realm`"},
		"rate-limit-requests": {carry: limit(perPeriod, 1), protects: always, becomes: "`limits.requests`", differs: "refused requests get 429; each path counts by itself"},
		"rate-limit-period":   {carry: limitPeriod, protects: always, becomes: "`per` of the limit", differs: "whole seconds"},
		"rate-limit-status-code": {
			carry: limitStatus, becomes: "`status` of the limit", differs: "429 or 503",
		},
		"rate-limit-whitelist":   {carry: limitExempt, becomes: "`exempt` of the limit", differs: "addresses, 100 at most"},
		"cors-enable":            {carry: corsOn(false, true), becomes: "`cors`"},
		"cors-allow-origin":      {carry: corsOrigins, becomes: "`cors.origins`", differs: "no regular expressions; a wrong origin admits none"},
		"cors-allow-methods":     {carry: corsMethodsOrAll, becomes: "`cors.methods`", differs: "`*` is GET, PUT, POST, DELETE, PATCH and OPTIONS"},
		"cors-allow-headers":     {carry: corsNames(corsName, true, corsHeaders), becomes: "`cors.headers`"},
		"cors-allow-credentials": {carry: corsCredentials, becomes: "`cors.credentials`", differs: "not for all origins"},
		"cors-max-age":           {carry: corsMaxAgeTime, becomes: "`cors.maxAge`", differs: "24h at most, as browsers have it"},
		"cors-respond-to-options": {
			carry: corsPreflight, becomes: "`cors.preflight`",
		},
	}
}

// haproxyIngressTable is that of the community's HAProxy Ingress.
func haproxyIngressTable() map[string]vendorAnnotation {
	t := map[string]vendorAnnotation{
		"ssl-redirect":      {carry: redirect, becomes: "`insecureEdgeTerminationPolicy`"},
		"ssl-redirect-code": {carry: httpsCode, becomes: "`fairlead.dev/redirect-status`"},
		"ssl-passthrough":   {carry: passthrough, becomes: "termination `passthrough`", differs: "what keeps clients away by looking at requests closes the paths then"},
		"secure-backends":   {carry: serverTLS, becomes: "termination `reencrypt`", differs: "the Ingress must have TLS"},
		"rewrite-target":    {carry: rewriteTarget, becomes: "`rewrite-target`"},
		"timeout-server":    {carry: to(api.AnnotationTimeout), becomes: "`timeout`"}, "timeout-tunnel": {carry: to(api.AnnotationTimeoutTunnel), becomes: "`timeout-tunnel`"},
		"timeout-connect":       {carry: to(policy.AnnotationConnectTimeout), becomes: "`fairlead.dev/connect-timeout`"},
		"health-check-interval": {carry: to(api.AnnotationCheckInterval), becomes: "`haproxy.health.check.interval`"},
		"balance-algorithm":     {carry: algorithm, becomes: "`balance`", differs: "roundrobin, leastconn, source and random"},
		"affinity":              {carry: affinity, becomes: "the sticky cookie", differs: "it is on without an annotation"},
		"session-cookie-name":   {carry: to(api.AnnotationCookieName), becomes: "`cookie_name`"},
		"session-cookie-same-site": {
			carry: cookieNone, becomes: "`affinity.cookie.sameSite`, `.secure`",
		},
		"session-cookie-domain": {carry: cookieText(cookieDomain), becomes: "`affinity.cookie.domain`", differs: "the host or a domain above it"},
		"maxconn-server":        {carry: to(api.AnnotationPodConnections), becomes: "`pod-concurrent-connections`", instead: "it counts for each router by itself"},
		"limit-connections":     {carry: limit(concurrent, 1), protects: always, becomes: "`limits.concurrent`", differs: "requests are counted, not connections; refused ones get 429"},
		"limit-rps":             {carry: limit(perSecond, 1), protects: always, becomes: "`limits.requests`", differs: "refused requests get 429; each path counts by itself"},
		"limit-whitelist":       {carry: limitExempt, becomes: "`exempt` of the limits", differs: "not for limit-connections; 100 items at most"},
		"waf":                   {instead: "write a policy with the group firewall", protects: enabled},
		"path-type":             {carry: pathType, becomes: "paths of type Prefix", differs: "begin and prefix only"},
		"redirect-to":           {carry: redirectTo(temporary, wholeAddress), becomes: "`fairlead.dev/redirect`", differs: "lists of clients come first"},
		"app-root":              {carry: appRoot, becomes: "`fairlead.dev/app-root`"},
		"proxy-body-size": {
			carry: maxBodyOrNone, protects: always, becomes: "`fairlead.dev/max-body`", differs: "bodies that do not say their length get 411",
		},
	}
	maps.Copy(t, haproxyIngressPolicies())
	haproxyIngressUpstream(t)
	add(t, vendorAnnotation{carry: addresses, protects: always, becomes: "`ip_allowlist`", differs: "a wrong item admits no client"}, "allowlist-source-range whitelist-source-range")
	add(t, vendorAnnotation{carry: denied, protects: always, becomes: "`fairlead.dev/deny`", differs: "a wrong item closes"}, "denylist-source-range")
	add(t, vendorAnnotation{carry: snippet(haproxySnippet), instead: insteadSnippet, protects: always}, "config-backend")
	add(t, vendorAnnotation{carry: snippet(haproxySnippet), instead: insteadSnippet, protects: always, host: true}, "config-frontend config-tcp config-global config-defaults")
	add(t, vendorAnnotation{instead: "a Route does not look at headers", protects: always}, "http-header-match http-header-match-regex")
	add(t, vendorAnnotation{instead: insteadHeaderList, protects: always}, "allowlist-source-header")
	add(t, vendorAnnotation{harmless: true}, "forwardfor drain-support drain-support-redispatch waf-mode")
	add(t, vendorAnnotation{instead: insteadAuth, protects: always}, "oauth")
	clientAnnotations(t)
	t["auth-tls-cert-header"] = vendorAnnotation{carry: clientHeader, becomes: "X-SSL-Client-DER", differs: "in base64, under this name"}
	add(t, vendorAnnotation{instead: "the auth server gets all headers, and its answer goes to the client as it is"}, "auth-headers-request auth-headers-fail")
	add(t, vendorAnnotation{instead: insteadAuth}, "oauth-uri-prefix oauth-headers")
	add(t, vendorAnnotation{harmless: true}, "auth-tls-strict")
	add(t, vendorAnnotation{instead: "write a RoutePolicy with headers.request.set"}, "headers original-forwarded-for-hdr")
	add(t, vendorAnnotation{instead: "write an Ingress for the other host, with fairlead.dev/redirect"}, "redirect-from redirect-from-regex")
	add(t, vendorAnnotation{instead: "write the paths into an Ingress of their own"}, "no-tls-redirect-locations")
	add(t, vendorAnnotation{instead: insteadRoute}, "blue-green-deploy blue-green-balance blue-green-mode blue-green-header blue-green-cookie")
	add(t, vendorAnnotation{instead: insteadCookie}, "session-cookie-strategy session-cookie-dynamic session-cookie-shared session-cookie-preserve session-cookie-keywords session-cookie-value-strategy")
	add(t, vendorAnnotation{carry: checkHTTP, becomes: "`fairlead.dev/health-path`", differs: "the router asks in place of HAProxy"}, "health-check-uri")
	add(t, vendorAnnotation{instead: "write a RoutePolicy with health.active"}, "health-check-port health-check-rise-count health-check-fall-count")
	add(t, vendorAnnotation{instead: insteadNothing}, "health-check-addr agent-check-addr agent-check-interval agent-check-port agent-check-send")
	add(t, vendorAnnotation{instead: "use " + api.AnnotationHSTS}, "hsts hsts-max-age hsts-include-subdomains hsts-preload")
	add(t, vendorAnnotation{instead: insteadNothing}, "fcgi-app tcp-service-port cert-signer server-alias maxqueue-server timeout-queue")
	return t
}

func haproxyIngressPolicies() map[string]vendorAnnotation {
	return map[string]vendorAnnotation{
		"cors-enable":             {carry: corsOn(true, false), becomes: "`cors`", differs: "without a list all origins are admitted, but not with credentials"},
		"cors-allow-origin":       {carry: corsOrigins, becomes: "`cors.origins`", differs: "all origins are not admitted with credentials; a wrong origin admits none"},
		"cors-allow-origin-regex": {carry: corsPattern, becomes: "no origin", differs: "origins are text; list them"},
		"cors-allow-methods":      {carry: corsNames(corsMethod, true, corsMethods), becomes: "`cors.methods`"},
		"cors-allow-headers":      {carry: corsNames(corsName, true, corsHeaders), becomes: "`cors.headers`"},
		"cors-expose-headers":     {carry: corsNames(corsName, false, corsExpose), becomes: "`cors.expose`"},
		"cors-allow-credentials":  {carry: corsCredentials, becomes: "`cors.credentials`", differs: "not for all origins"},
		"cors-max-age":            {carry: corsMaxAge, becomes: "`cors.maxAge`", differs: "24h at most, as browsers have it"},
		"auth-secret":             {carry: authSecret, protects: always, becomes: "`fairlead.dev/basic-secret`", differs: "a Secret of the Ingress's namespace, with hashes"},
		"auth-realm":              {carry: keep(func(k *authKeys) *said { return &k.realm }), becomes: "`fairlead.dev/basic-realm`"},
		"auth-url": {
			carry: authURLNamed, protects: always, becomes: "`authentication.external`", differs: "a Service of the namespace, with auth-headers-succeed",
		},
		"auth-method":          {carry: authMethod, protects: always, becomes: "GET", differs: "others close"},
		"auth-headers-succeed": {carry: authHeaders, protects: always, becomes: "`external.responseHeaders`", differs: "names only; what clients send in them is removed"},
		"auth-signin":          {carry: keep(func(k *authKeys) *said { return &k.signIn }), becomes: "`external.signIn`", differs: "without HAProxy's variables"},
	}
}
