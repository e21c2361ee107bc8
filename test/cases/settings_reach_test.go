package cases

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// reaches says how each setting of everyReach arrives in the configuration of a
// HAProxy that runs with it.
var reaches = map[string]string{
	"tuningOptions.headerBufferBytes":            "tune.bufsize 65536",
	"tuningOptions.headerBufferMaxRewriteBytes":  "tune.maxrewrite 16384",
	"tuningOptions.threadCount":                  "nbthread 2",
	"tuningOptions.maxConnections":               "maxconn 6833",
	"tuningOptions.clientTimeout":                "timeout client 20000ms",
	"tuningOptions.clientFinTimeout":             "timeout client-fin 2000ms",
	"tuningOptions.serverTimeout":                "timeout server 20000ms",
	"tuningOptions.serverFinTimeout":             "timeout server-fin 2000ms",
	"tuningOptions.tunnelTimeout":                "timeout tunnel 1800000ms",
	"tuningOptions.connectTimeout":               "timeout connect 3000ms",
	"tuningOptions.httpKeepAliveTimeout":         "timeout http-keep-alive 60000ms",
	"tuningOptions.tlsInspectDelay":              "tcp-request inspect-delay 3000ms",
	"tuningOptions.healthCheckInterval":          "inter 7000",
	"httpHeaders.uniqueId.name":                  "http-request set-header 'X-Unique' %[unique-id]",
	"httpHeaders.uniqueId.format":                "unique-id-format '%{+X}o-%ci'",
	"httpHeaders.headerNameCaseAdjustments":      "h1-case-adjust 'x-weird' 'X-WEIRD'",
	"httpHeaders.forwardedHeaderPolicy":          "! a request shows it",
	"httpHeaders.actions.request":                "http-request set-header 'X-Both' 'controller'",
	"httpHeaders.actions.response":               "http-response set-header 'X-Answer' 'controller'",
	"httpCompression.mimeTypes":                  "compression type 'application/json'",
	"httpEmptyRequestsPolicy":                    "option http-ignore-probes",
	"idleConnectionTerminationPolicy":            "option idle-close-on-response",
	"closedClientConnectionPolicy":               "option abortonclose",
	"tlsSecurityProfile":                         "ssl-min-ver TLSv1.3",
	"logging.access.destination.type":            "log 127.0.0.1:5514 len 2048 local3 info",
	"logging.access.destination.syslog":          "log 127.0.0.1:5514 len 2048 local3 info",
	"logging.access.httpLogFormat":               "log-format 'path=%HP who=%hr cookie=%CC pod=%s'",
	"logging.access.httpCaptureHeaders.request":  "capture request header 'X-Who' len 20",
	"logging.access.httpCaptureHeaders.response": "capture response header 'X-Reply' len 21",
	"logging.access.httpCaptureCookies":          "capture cookie 'session=' len 100",
	"logging.access.logEmptyRequests":            "option dontlognull",
	"routeAdmission.wildcardPolicy":              "\"*%[path]/#\"",
	"unsupportedConfigOverrides":                 "option contstats",
	"unsupportedConfigOverrides (leastconn)":     " from http_leastconn_cookie\n",
}

// elsewhere are the fields that other tests show, or that are not the routers'.
var elsewhere = map[string]string{
	"domain":                                "the operator's: test/api",
	"replicas":                              "the operator's: test/api",
	"endpointPublishingStrategy":            "the operator's; its protocol: TestSettingsProxyProtocol",
	"defaultCertificate":                    "the operator's: operator/certificate_test.go",
	"nodePlacement":                         "the operator's: operator/settings_test.go",
	"namespaceSelector":                     "router/kube: TestWatcher",
	"routeSelector":                         "router/kube: TestWatcher",
	"routeAdmission.namespaceOwnership":     "cases ownership-*",
	"clientTLS":                             "TestSettingsClientTLS, TestSettingsRevocation",
	"httpErrorCodePages":                    "TestSettingsEverything",
	"logging.access.destination.container":  "TestSettingsLogContainer",
	"tuningOptions.reloadInterval":          "no effect, as a finding says: router/settings",
	"tuningOptions.configurationManagement": "no effect, as a finding says: router/settings",
	"haproxyVersion":                        "the operator's: operator/haproxyversion_test.go",
}

// everyReach is everySetting and what it leaves out.
func everyReach(s *operatorv1.IngressControllerSpec) {
	everySetting(s, 5514)
	s.HTTPHeaders.UniqueId.Format = "%{+X}o-%ci"
	s.HTTPHeaders.ForwardedHeaderPolicy = operatorv1.NeverHTTPHeaderPolicy
	s.Logging.Access.HTTPCaptureHeaders.Response = []operatorv1.IngressControllerCaptureHTTPHeader{{Name: "X-Reply", MaxLength: 21}}
	s.RouteAdmission = &operatorv1.RouteAdmissionPolicy{WildcardPolicy: operatorv1.WildcardPolicyAllowed}
	s.UnsupportedConfigOverrides = runtime.RawExtension{Raw: []byte(`{"loadBalancingAlgorithm": "leastconn", "contStats": "true", "mutualTLSHeaderFilter": "false"}`)}
}

// TestSettingsReach: each setting arrives in a HAProxy that takes all of them,
// and no field of the API is forgotten.
func TestSettingsReach(t *testing.T) {
	t.Parallel()
	fields := map[string]bool{}
	leaves(reflect.TypeFor[operatorv1.IngressControllerSpec](), "", fields)
	for _, f := range slices.Sorted(maps.Keys(fields)) {
		if !covered(f) {
			t.Errorf("no test shows what becomes of spec.%s", f)
		}
	}
	onVersions(t, func(t *testing.T, version string) {
		b := settingsBed(t, version, func(b *bed) { b.controller.Store(&operatorv1.IngressController{}) })
		// Two pods, so that there is a choice, and a health check.
		pods := parseStep(t, map[string]string{"services": "s/web http=8080 web@198.18.250.90 second@198.18.250.91"})
		for _, o := range pods.put {
			ensurePods(t, o)
		}
		b.apply(pods)
		b.configure(everyReach)
		if f := *b.findings.Load(); len(f) != 0 {
			t.Errorf("findings %v", f)
		}
		b.eventually("all settings", func() error {
			text, err := os.ReadFile(b.layout.Config())
			for field, line := range reaches {
				if !strings.Contains(line, "!") && !strings.Contains(string(text), line) {
					err = errors.Join(err, fmt.Errorf("spec.%s: %q is not in the configuration", field, line))
				}
			}
			return err
		})
		for _, line := range []string{
			"GET http://plain.set.test/ -> 200 seen:X-Forwarded-Host= seen:X-Forwarded-For= seen:Forwarded=",
			// mutualTLSHeaderFilter
			"GET http://plain.set.test/ h:X-SSL-Client-CN=me -> 200 seen:X-Ssl-Client-Cn=me",
		} {
			b.expectLine(line)
		}
	})
}

// leaves collects the paths of the fields of an API type, down to what has no
// fields or is a whole of its own.
func leaves(t reflect.Type, path string, into map[string]bool) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[metav1.Duration](), reflect.TypeFor[metav1.LabelSelector](), reflect.TypeFor[runtime.RawExtension]():
		into[path] = true
		return
	}
	if t.Kind() != reflect.Struct {
		into[path] = true
		return
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous || name == "":
			leaves(f.Type, path, into)
		default:
			leaves(f.Type, strings.TrimPrefix(path+"."+name, "."), into)
		}
	}
}

// covered reports whether a field, or one that holds it, is in a table.
func covered(field string) bool {
	for {
		if _, ok := reaches[field]; ok {
			return true
		}
		if _, ok := elsewhere[field]; ok {
			return true
		}
		i := strings.LastIndexByte(field, '.')
		if i < 0 {
			return false
		}
		field = field[:i]
	}
}
