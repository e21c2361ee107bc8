package settings_test

import (
	"strings"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/settings"
)

// TestTracing: an annotation that cannot be read as a whole traces nothing, and says why.
func TestTracing(t *testing.T) {
	t.Parallel()
	read := func(text string, flags settings.Flags, edit func(*operatorv1.IngressControllerSpec)) (settings.Settings, []api.Finding) {
		ic := &operatorv1.IngressController{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{api.AnnotationTracing: text}}}
		if edit != nil {
			edit(&ic.Spec)
		}
		return settings.From(ic, flags)
	}
	for text, want := range map[string]struct {
		collector settings.Collector
		tracing   model.Tracing
	}{
		"endpoint=https://collector:4317, ratio=0.01":             {settings.Collector{URL: "https://collector:4317"}, model.Tracing{On: true, Parent: true, Sampled: 10_000}},
		"endpoint=http://198.18.0.7":                              {settings.Collector{URL: "http://198.18.0.7:4317"}, model.Tracing{On: true, Parent: true, Sampled: 10_000}},
		" ratio=1 , endpoint = https://[2001:db8::1]/ ":           {settings.Collector{URL: "https://[2001:db8::1]:4317"}, model.Tracing{On: true, Parent: true, Sampled: model.AllSampled}},
		"endpoint=https://c/otlp/,protocol=http,ratio=0":          {settings.Collector{URL: "https://c:4318/otlp", HTTP: true}, model.Tracing{On: true, Parent: true}},
		"endpoint=https://c:1,protocol=grpc,trustIncoming=true":   {settings.Collector{URL: "https://c:1"}, model.Tracing{On: true, Trust: true, Parent: true, Sampled: 10_000}},
		"endpoint=https://c:1,trustIncoming=false,ratio=0.000001": {settings.Collector{URL: "https://c:1"}, model.Tracing{On: true, Parent: true, Sampled: 1}},
	} {
		s, findings := read(text, settings.Flags{}, nil)
		if s.Collector != want.collector || s.Ingest.Tracing != want.tracing || len(findings) > 0 {
			t.Errorf("%q: %+v %+v, findings %v", text, s.Collector, s.Ingest.Tracing, findings)
		}
	}
	for _, text := range []string{
		"", "https://c:4317", "endpoint=", "endpoint=c:4317", "endpoint=ftp://c", "endpoint=https://", "endpoint=https://c:0", "endpoint=https://c:99999", "endpoint=https://u:p@c", "endpoint=https://c?x", "endpoint=https://c#x",
		"endpoint=https://c/v1/traces", "endpoint=https://c,endpoint=https://d", "endpoint=https://c,ratio=2", "endpoint=https://c,ratio=-0.1", "endpoint=https://c,ratio=NaN", "endpoint=https://c,ratio=", "endpoint=https://c,protocol=udp",
		"endpoint=https://c,trustIncoming=yes", "endpoint=https://c,trust=true", "ratio=0.1", "endpoint=http://169.254.169.254", "endpoint=http://[fd00:ec2::254]:80", "endpoint=http://[::ffff:169.254.169.254]", "endpoint=https://c\nd", "endpoint=https://c\x00",
		"endpoint=https://a b", "endpoint=https://" + strings.Repeat("a", 2000),
	} {
		s, findings := read(text, settings.Flags{}, nil)
		if (s.Collector != settings.Collector{}) || s.Ingest.Tracing.On || len(findings) != 1 || findings[0].Field != "metadata.annotations[fairlead.dev/tracing]" || findings[0].Reason != api.ReasonInvalidField {
			t.Errorf("%q: %+v, findings %v", text, s.Collector, findings)
		}
	}
	const good = "endpoint=https://c:4317"
	if s, findings := read(good, settings.Flags{CollectorProblem: "the collector c:4317 refuses connections"}, nil); !s.Ingest.Tracing.On || s.Collector.URL == "" || len(findings) != 1 || findings[0].Reason != api.ReasonSpansNotSent {
		t.Errorf("a collector that is away: %+v %v", s.Collector, findings)
	}
	logs := syslog(func(*operatorv1.AccessLogging) {})
	if s, findings := read(good, settings.Flags{OneLogFormat: true}, logs); !s.Ingest.Tracing.On || s.Collector.URL != "" || len(findings) != 1 || findings[0].Reason != api.ReasonSpansNotSent {
		t.Errorf("an old HAProxy with an access log: %+v %v", s.Collector, findings)
	}
}
