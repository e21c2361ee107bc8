package settings_test

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/render"
	"github.com/fairlead/fairlead/router/settings"
)

type spec = operatorv1.IngressControllerSpec

func from(edit func(*spec), f settings.Flags) (settings.Settings, []string) {
	ic := &operatorv1.IngressController{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "default"}}
	edit(&ic.Spec)
	s, findings := settings.From(ic, f)
	var fields []string
	for _, f := range findings {
		fields = append(fields, f.Field)
	}
	return s, fields
}

func set(name, value string) operatorv1.IngressControllerHTTPHeader {
	return operatorv1.IngressControllerHTTPHeader{Name: name, Action: operatorv1.IngressControllerHTTPHeaderActionUnion{
		Type: operatorv1.Set, Set: &operatorv1.IngressControllerSetHTTPHeader{Value: value},
	}}
}

func syslog(edit func(*operatorv1.AccessLogging)) func(*spec) {
	a := &operatorv1.AccessLogging{Destination: operatorv1.LoggingDestination{
		Type: operatorv1.SyslogLoggingDestinationType, Syslog: &operatorv1.SyslogLoggingDestinationParameters{Address: "192.0.2.1", Port: 514},
	}}
	edit(a)
	return func(s *spec) { s.Logging = &operatorv1.IngressControllerLogging{Access: a} }
}

func overrides(text string) func(*spec) {
	return func(s *spec) { s.UnsupportedConfigOverrides.Raw = []byte(text) }
}

func custom(version configv1.TLSProtocolVersion, ciphers ...string) func(*spec) {
	return func(s *spec) {
		s.TLSSecurityProfile = &configv1.TLSSecurityProfile{Type: "Custom", Custom: &configv1.CustomTLSProfile{
			TLSProfileSpec: configv1.TLSProfileSpec{MinTLSVersion: version, Ciphers: ciphers},
		}}
	}
}

// TestFlagsReachHAProxy: what the command line says under the name of a setting of HAProxy is that
// setting, so that a flag that is not handed on shows here, and not as a limit that is not kept.
func TestFlagsReachHAProxy(t *testing.T) {
	t.Parallel()
	names := 0
	for _, to := range reflect.VisibleFields(reflect.TypeFor[render.Settings]()) {
		from, ok := reflect.TypeFor[settings.Flags]().FieldByName(to.Name)
		if !ok || from.Type != to.Type || to.Name == "LogSocket" { // LogSocket has an effect with an access log only
			continue
		}
		names++
		var f settings.Flags
		reflect.ValueOf(&f).Elem().FieldByIndex(from.Index).Set(other(from.Type))
		s, _ := settings.From(nil, f)
		if got := reflect.ValueOf(s.Render).FieldByIndex(to.Index); got.IsZero() {
			t.Errorf("Flags.%s does not become render.Settings.%s", to.Name, to.Name)
		}
	}
	if names < 10 {
		t.Errorf("%d names in common, want more", names)
	}
}

// other returns a value of a type that is not its zero value.
func other(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		v.SetInt(7)
	case reflect.String:
		v.SetString("/x")
	default:
		if t == reflect.TypeFor[netip.Addr]() {
			return reflect.ValueOf(netip.MustParseAddr("192.0.2.1"))
		}
		v.Field(0).Set(other(t.Field(0).Type))
	}
	return v
}

// TestCustomCiphers: a profile that would leave a version of TLS to chance is
// not used.
func TestCustomCiphers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		edit func(*spec)
		good bool
	}{
		{custom(configv1.VersionTLS12), false},
		{custom(configv1.VersionTLS12, "TLS_AES_128_GCM_SHA256"), false},
		{custom(configv1.VersionTLS13, "ECDHE-RSA-AES128-GCM-SHA256"), false},
		{custom(configv1.VersionTLS12, "ECDHE-RSA-AES128-GCM-SHA256"), true},
		{custom(configv1.VersionTLS13, "TLS_AES_128_GCM_SHA256"), true},
	} {
		if s, fields := from(test.edit, settings.Flags{}); (s.Render.TLS != render.TLS{}) != test.good || (len(fields) == 0) != test.good {
			t.Errorf("%+v, findings %v", s.Render.TLS, fields)
		}
	}
}

// TestOverrides: the overrides that mean something here, and what the load
// balancer in front asks for.
func TestOverrides(t *testing.T) {
	t.Parallel()
	s, fields := from(func(s *spec) {
		overrides(`{"loadBalancingAlgorithm":"leastconn","mutualTLSHeaderFilter":"false","contStats":"true","bandwidthLimits":"Enabled","firewall":"Enabled","maxRSABits":"8192","maxHealthChecksPerNamespace":"1000"}`)(s)
		s.EndpointPublishingStrategy = &operatorv1.EndpointPublishingStrategy{
			Type: operatorv1.LoadBalancerServiceStrategyType,
			LoadBalancer: &operatorv1.LoadBalancerStrategy{ProviderParameters: &operatorv1.ProviderLoadBalancerParameters{
				AWS: &operatorv1.AWSLoadBalancerParameters{Type: operatorv1.AWSNetworkLoadBalancer},
			}},
		}
	}, settings.Flags{})
	if len(fields) > 0 || s.Ingest.Balance != model.LeastConn || s.Ingest.MaxRSABits != 8192 || s.Ingest.NamespaceChecks != 1000 || !s.Render.ClientTLS.KeepHeaders || !s.Render.HTTP.ContinuousStats || !s.Render.HTTP.Bandwidth || !s.Ingest.Bandwidth {
		t.Errorf("%+v %+v, findings %v", s.Ingest, s.Render.HTTP, fields)
	}
	if s.Render.Timeouts.Tunnel != 349*time.Second {
		t.Errorf("tunnel timeout %s behind a load balancer that ends idle connections after 350s", s.Render.Timeouts.Tunnel)
	}
}

// TestClients: limits per source and lists of networks; what cannot be read does
// not open anything.
func TestClients(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		overrides string
		want      render.Clients
		findings  int
	}{
		{`{}`, render.Clients{}, 0},
		{`{"maxConnectionsPerSource":"50","maxTLSConnectionRatePerSource":"0"}`, render.Clients{PerSource: 50, TLSRate: -1}, 0},
		{`{"maxConnectionsPerSource":"-1","maxTLSConnectionRatePerSource":"1\n2"}`, render.Clients{}, 2},
		{`{"unlimitedSources":"2001:db8::1/32, 192.0.2.1 192.0.2.1"}`, render.Clients{Exempt: "192.0.2.1/32\n2001:db8::/32"}, 0},
		{`{"unlimitedSources":"192.0.2.0/24\n0.0.0.0/0"}`, render.Clients{}, 1},
		{`{"unlimitedSources":"::ffff:192.0.2.1/128 fe80::1%eth0 192.0.2.2"}`, render.Clients{Exempt: "192.0.2.2/32"}, 1},
		{`{"proxyProtocolSources":"192.0.2.0/24 x"}`, render.Clients{ProxySources: "192.0.2.0/24"}, 1},
		{`{"proxyProtocolSources":""}`, render.Clients{ProxySources: "0.0.0.0/32"}, 0},
		{`{"proxyProtocolSources":"lb.example.com"}`, render.Clients{ProxySources: "0.0.0.0/32"}, 1},
	} {
		if s, fields := from(overrides(test.overrides), settings.Flags{}); s.Render.Clients != test.want || len(fields) != test.findings {
			t.Errorf("%s: %+v, findings %v", test.overrides, s.Render.Clients, fields)
		}
	}
}

// TestUnusable: a value that cannot be used is not, and a finding names it.
func TestUnusable(t *testing.T) {
	t.Parallel()
	const lines = "a\nb"
	for field, edit := range map[string]func(*spec){
		"spec.tuningOptions.clientTimeout":        func(s *spec) { s.TuningOptions.ClientTimeout = &metav1.Duration{Duration: -1} },
		"spec.tuningOptions.httpKeepAliveTimeout": func(s *spec) { s.TuningOptions.HTTPKeepAliveTimeout = &metav1.Duration{Duration: time.Hour} },
		"spec.tuningOptions.healthCheckInterval":  func(s *spec) { s.TuningOptions.HealthCheckInterval = &metav1.Duration{Duration: time.Millisecond} },
		"spec.tuningOptions.threadCount":          func(s *spec) { s.TuningOptions.ThreadCount = 65 },
		"spec.tuningOptions.headerBufferBytes":    func(s *spec) { s.TuningOptions.HeaderBufferBytes = 100 },
		"spec.tuningOptions.maxConnections":       func(s *spec) { s.TuningOptions.MaxConnections = 100000 },
		"spec.httpHeaders.forwardedHeaderPolicy":  func(s *spec) { s.HTTPHeaders = &operatorv1.IngressControllerHTTPHeaders{ForwardedHeaderPolicy: "x"} },
		"spec.httpHeaders.uniqueId.format": func(s *spec) {
			s.HTTPHeaders = &operatorv1.IngressControllerHTTPHeaders{UniqueId: operatorv1.IngressControllerHTTPUniqueIdHeaderPolicy{Name: "X", Format: "%Tr"}}
		},
		"spec.httpHeaders.uniqueId.name": func(s *spec) {
			s.HTTPHeaders = &operatorv1.IngressControllerHTTPHeaders{UniqueId: operatorv1.IngressControllerHTTPUniqueIdHeaderPolicy{Name: lines}}
		},
		"spec.httpHeaders.headerNameCaseAdjustments": func(s *spec) {
			s.HTTPHeaders = &operatorv1.IngressControllerHTTPHeaders{HeaderNameCaseAdjustments: []operatorv1.IngressControllerHTTPHeaderNameCaseAdjustment{"A", "a"}}
		},
		"spec.httpHeaders.actions.request[Host].name": func(s *spec) {
			s.HTTPHeaders = &operatorv1.IngressControllerHTTPHeaders{Actions: operatorv1.IngressControllerHTTPHeaderActions{Request: []operatorv1.IngressControllerHTTPHeader{set("Host", "x")}}}
		},
		"spec.httpHeaders.actions.response[X].action": func(s *spec) {
			s.HTTPHeaders = &operatorv1.IngressControllerHTTPHeaders{Actions: operatorv1.IngressControllerHTTPHeaderActions{Response: []operatorv1.IngressControllerHTTPHeader{set("X", "%[req.hdr(a)]")}}}
		},
		"spec.httpCompression.mimeTypes":                              func(s *spec) { s.HTTPCompression.MimeTypes = []operatorv1.CompressionMIMEType{"text"} },
		"spec.tlsSecurityProfile.type":                                func(s *spec) { s.TLSSecurityProfile = &configv1.TLSSecurityProfile{Type: "x"} },
		"spec.tlsSecurityProfile.custom":                              func(s *spec) { s.TLSSecurityProfile = &configv1.TLSSecurityProfile{Type: "Custom"} },
		"spec.logging.access.destination.syslog":                      syslog(func(a *operatorv1.AccessLogging) { a.Destination.Syslog.Address = "host" }),
		"spec.logging.access.destination.syslog.facility":             syslog(func(a *operatorv1.AccessLogging) { a.Destination.Syslog.Facility = lines }),
		"spec.logging.access.destination.maxLength":                   syslog(func(a *operatorv1.AccessLogging) { a.Destination.Syslog.MaxLength = 5 }),
		"spec.logging.access.httpLogFormat":                           syslog(func(a *operatorv1.AccessLogging) { a.HttpLogFormat = lines }),
		"spec.clientTLS.clientCertificatePolicy":                      func(s *spec) { s.ClientTLS.ClientCertificatePolicy = "x" },
		"spec.clientTLS.clientCA":                                     func(s *spec) { s.ClientTLS.ClientCertificatePolicy = "Required" },
		"spec.httpErrorCodePages":                                     func(s *spec) { s.HttpErrorCodePages.Name = "pages" },
		"spec.tuningOptions.reloadInterval":                           func(s *spec) { s.TuningOptions.ReloadInterval.Duration = time.Second },
		"spec.unsupportedConfigOverrides":                             overrides(`[]`),
		"spec.unsupportedConfigOverrides.contStats":                   overrides(`{"contStats":"yes"}`),
		"spec.unsupportedConfigOverrides.localWithFallback":           overrides(`{"localWithFallback":"false"}`),
		"spec.unsupportedConfigOverrides.loadBalancingAlgorithm":      overrides(`{"loadBalancingAlgorithm":"first"}`),
		"spec.unsupportedConfigOverrides.maxRSABits":                  overrides(`{"maxRSABits":"16384"}`),
		"spec.unsupportedConfigOverrides.bandwidthLimits":             overrides(`{"bandwidthLimits":"true"}`),
		"spec.unsupportedConfigOverrides.maxHealthChecksPerNamespace": overrides(`{"maxHealthChecksPerNamespace":"0"}`),
		"spec.unsupportedConfigOverrides.mutualTLSHeaderFilter":       overrides(`{"mutualTLSHeaderFilter":false}`),
	} {
		_, fields := from(edit, settings.Flags{Files: 250_000, PageNotFound: "no response"})
		if len(fields) != 1 || fields[0] != field {
			t.Errorf("%s: findings about %v", field, fields)
		}
	}
}

// TestClosed: what should protect and cannot closes the door.
func TestClosed(t *testing.T) {
	t.Parallel()
	for _, p := range []operatorv1.ClientCertificatePolicy{"Required", "Optional", "x"} {
		s, _ := from(func(s *spec) { s.ClientTLS.ClientCertificatePolicy = p }, settings.Flags{ClientCA: "broken"})
		if !s.Render.ClientTLS.Closed {
			t.Errorf("%s: open", p)
		}
	}
	if safe := (render.Settings{ClientTLS: render.ClientTLS{Verify: "required"}}).Safe(); !safe.ClientTLS.Closed {
		t.Error("the settings to fall back to are open")
	}
}

// TestInheritedProfile: where the IngressController has no TLS profile, that
// of the cluster holds, which the operator writes to the status.
func TestInheritedProfile(t *testing.T) {
	t.Parallel()
	old, custom := configv1.TLSProfiles[configv1.TLSProfileOldType], &configv1.TLSProfileSpec{
		MinTLSVersion: configv1.VersionTLS13, Ciphers: []string{"TLS_AES_256_GCM_SHA384"}, Groups: []configv1.TLSGroup{configv1.TLSGroupSecP384r1},
	}
	for _, test := range []struct {
		name      string
		spec      *configv1.TLSSecurityProfile
		inherited *configv1.TLSProfileSpec
		want      render.TLS
	}{
		{"none", nil, nil, render.TLS{}},
		{"the default is no change", nil, configv1.TLSProfiles[configv1.TLSProfileIntermediateType], render.TLS{}},
		{"the cluster's", nil, custom, render.TLS{MinVersion: "TLSv1.3", Suites: "TLS_AES_256_GCM_SHA384", Curves: "secp384r1"}},
		{"its own wins", &configv1.TLSSecurityProfile{Type: configv1.TLSProfileIntermediateType}, old, render.TLS{}},
	} {
		ic := &operatorv1.IngressController{Spec: spec{TLSSecurityProfile: test.spec}}
		ic.Status.TLSProfile = test.inherited
		s, findings := settings.From(ic, settings.Flags{})
		if s.Render.TLS != test.want || len(findings) > 0 {
			t.Errorf("%s: %+v, findings %v", test.name, s.Render.TLS, findings)
		}
	}
	ic := &operatorv1.IngressController{}
	ic.Status.TLSProfile = old
	if s, _ := settings.From(ic, settings.Flags{}); s.Render.TLS.MinVersion != "TLSv1.1" || s.Render.TLS.Curves != "" {
		t.Errorf("the cluster's Old: %+v", s.Render.TLS)
	}
}

// FuzzText: no text of an IngressController becomes more than one line of
// configuration, or breaks out of its word.
func FuzzText(f *testing.F) {
	f.Add("a b'c\"d\\e#f%%g{h}")
	for _, s := range []string{"x\nglobal", "\n", "a\tb", "a\rb", "a\x00b", "a\fb", "a\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, _ := from(func(s *spec) {
			s.HTTPHeaders = &operatorv1.IngressControllerHTTPHeaders{
				UniqueId: operatorv1.IngressControllerHTTPUniqueIdHeaderPolicy{Name: "X-Id", Format: text},
				Actions: operatorv1.IngressControllerHTTPHeaderActions{
					Request: []operatorv1.IngressControllerHTTPHeader{set(text, "x"), set("X-Text", text)},
				},
			}
			s.HTTPCompression.MimeTypes = []operatorv1.CompressionMIMEType{operatorv1.CompressionMIMEType(text)}
			s.ClientTLS.AllowedSubjectPatterns = []string{text}
			s.TLSSecurityProfile = &configv1.TLSSecurityProfile{Type: "Custom", Custom: &configv1.CustomTLSProfile{TLSProfileSpec: configv1.TLSProfileSpec{Ciphers: []string{text}}}}
			syslog(func(a *operatorv1.AccessLogging) { a.HttpLogFormat, a.Destination.Syslog.Facility = text, text })(s)
		}, settings.Flags{})
		base, err := render.Skeleton(s.Render, render.Layout{Dir: "/d"}, plan.Capabilities{})
		if err != nil {
			t.Fatal(err)
		}
		plain, err := render.Skeleton(render.Settings{}, render.Layout{Dir: "/d"}, plan.Capabilities{})
		if err != nil {
			t.Fatal(err)
		}
		// Each text adds the few lines that are due.
		const most = 40
		if more := strings.Count(base.Text, "\n") - strings.Count(plain.Text, "\n"); more > most {
			t.Errorf("%d more lines", more)
		}
		for l := range strings.Lines(base.Text) {
			if strings.HasPrefix(l, "global") && strings.TrimSpace(l) != "global" {
				t.Errorf("line %q", l)
			}
		}
		if strings.Count(base.Text, "\nglobal") != strings.Count(plain.Text, "\nglobal") {
			t.Error("a section more")
		}
	})
}

// TestData: what is data is no reason for a reload.
func TestData(t *testing.T) {
	t.Parallel()
	s, fields := from(func(s *spec) {
		s.HTTPHeaders = &operatorv1.IngressControllerHTTPHeaders{ForwardedHeaderPolicy: operatorv1.IfNoneHTTPHeaderPolicy}
		s.RouteAdmission = &operatorv1.RouteAdmissionPolicy{NamespaceOwnership: "InterNamespaceAllowed"}
		s.TuningOptions.HealthCheckInterval = &metav1.Duration{Duration: 9 * time.Second}
	}, settings.Flags{})
	i := s.Ingest
	if len(fields) != 0 || i.Forwarded != model.ForwardedIfNone || !i.InterNamespace || i.CheckInterval != 9*time.Second {
		t.Errorf("%+v, findings %v", i, fields)
	}
	if changed := render.Changed(render.Settings{}, s.Render); len(changed) != 0 {
		t.Errorf("needs a reload: %v", changed)
	}
}

// TestHeaderBytes: routes may add what HAProxy keeps free for them, unless that
// is more than one command of its socket can carry.
func TestHeaderBytes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		buffer, rewrite int32
		want            int
	}{{0, 0, 8192}, {65536, 0, 8192}, {65536, 16384, 16384}, {65536, 40000, 32768}, {16384, 0, 8192}, {0, 4096, 4096}} {
		s, _ := from(func(s *spec) {
			s.TuningOptions.HeaderBufferBytes, s.TuningOptions.HeaderBufferMaxRewriteBytes = tt.buffer, tt.rewrite
		}, settings.Flags{})
		if got := s.Ingest.HeaderBytes; got != tt.want {
			t.Errorf("buffer %d, rewrite %d: %d, want %d", tt.buffer, tt.rewrite, got, tt.want)
		}
	}
}

// TestSeries: the budget of metrics is a number within bounds, or the default.
func TestSeries(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "2000": 2000, "100000": 100_000, "1999": 0, "1000001": 0, "many": 0, "25000\n": 0, "2e4": 0, "-25000": 0} {
		ic := &operatorv1.IngressController{}
		ic.Annotations = map[string]string{api.AnnotationMetricsSeries: text}
		got, findings := settings.From(ic, settings.Flags{})
		if got.Series != want || (len(findings) > 0) != (want == 0 && text != "") {
			t.Errorf("%q: %d series, findings %v; want %d", text, got.Series, findings, want)
		}
	}
}

// TestSharedAddress: Gateways share the address of the router only where that is said.
func TestSharedAddress(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"": false, "true": true, "false": false, "yes": false, "true\n\t\r\x00\f": false} {
		ic := &operatorv1.IngressController{}
		ic.Annotations = map[string]string{gateway.AnnotationSharedAddress: text}
		got, findings := settings.From(ic, settings.Flags{})
		if wrong := text != "" && text != "true" && text != "false"; got.Ingest.SharedAddress != want || (len(findings) > 0) != wrong {
			t.Errorf("%q: permitted %t, findings %v; want %t", text, got.Ingest.SharedAddress, findings, want)
		}
	}
	if got, _ := settings.From(nil, settings.Flags{}); got.Ingest.SharedAddress {
		t.Error("permitted without an IngressController")
	}
}

// TestClusterAnnotations: what the whole cluster says holds where the
// IngressController says nothing, or nothing that can be used.
func TestClusterAnnotations(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name        string
		annotations map[string]string
		http2       bool
		hardStop    time.Duration
		findings    int
	}{
		{name: "none"},
		{name: "of the cluster", annotations: map[string]string{api.AnnotationClusterHTTP2: "true", api.AnnotationClusterHardStopAfter: "30m"}, http2: true, hardStop: 30 * time.Minute},
		{
			name: "its own win", hardStop: time.Minute,
			annotations: map[string]string{
				api.AnnotationHTTP2: "false", api.AnnotationClusterHTTP2: "true", api.AnnotationHardStopAfter: "1m", api.AnnotationClusterHardStopAfter: "30m",
			},
		},
		{
			name: "its own cannot be used", hardStop: 30 * time.Minute, findings: 1,
			annotations: map[string]string{api.AnnotationHardStopAfter: "soon\n", api.AnnotationClusterHardStopAfter: "30m"},
		},
		{name: "its own is empty", hardStop: 30 * time.Minute, annotations: map[string]string{api.AnnotationHardStopAfter: "", api.AnnotationClusterHardStopAfter: "30m"}},
		{name: "neither can be used", findings: 1, annotations: map[string]string{api.AnnotationHardStopAfter: "-1m", api.AnnotationClusterHardStopAfter: "x"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ic := &operatorv1.IngressController{}
			ic.Annotations = test.annotations
			got, findings := settings.From(ic, settings.Flags{})
			if got.Ingest.HTTP2 != test.http2 || got.Render.HardStopAfter != test.hardStop || len(findings) != test.findings {
				t.Errorf("HTTP/2 %t, hard stop after %v, findings %v", got.Ingest.HTTP2, got.Render.HardStopAfter, findings)
			}
		})
	}
}
