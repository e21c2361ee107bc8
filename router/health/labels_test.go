package health

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestLabels(t *testing.T) {
	t.Parallel()
	in := `# HELP haproxy_backend_current_sessions Number of sessions
# TYPE haproxy_backend_current_sessions gauge
haproxy_frontend_current_sessions{proxy="public"} 1
haproxy_backend_current_sessions{proxy="router_default"} 0
haproxy_backend_current_sessions{proxy="be_http:shop:web:1a2b3c4d"} 3
haproxy_backend_current_sessions{proxy="be_http:shop:web_canary_next:1a2b3c4d"} 1
haproxy_backend_http_responses_total{proxy="be_edge_http:shop:web:1a2b3c4d",code="2xx"} 7
haproxy_server_current_sessions{proxy="be_secure:shop:bank:1a2b3c4d",server="pod:bank-1:bank:https:192.0.2.1:8443:9a8b"} 2
haproxy_server_current_sessions{proxy="be_tcp:shop:db:1a2b3c4d",server="ept:db:tls:2001:db8::1:8443"} 1
haproxy_process_nbthread 4`
	want := `# HELP haproxy_backend_current_sessions Number of sessions
# TYPE haproxy_backend_current_sessions gauge
haproxy_frontend_current_sessions{proxy="public"} 1
haproxy_backend_current_sessions{proxy="router_default"} 0
haproxy_backend_current_sessions{backend="http",namespace="shop",route="web",proxy="be_http:shop:web:1a2b3c4d"} 3
haproxy_backend_current_sessions{backend="http",namespace="shop",route="web",canary="next",proxy="be_http:shop:web_canary_next:1a2b3c4d"} 1
haproxy_backend_http_responses_total{backend="https-edge",namespace="shop",route="web",proxy="be_edge_http:shop:web:1a2b3c4d",code="2xx"} 7
haproxy_server_current_sessions{backend="https",namespace="shop",route="bank",pod="bank-1",service="bank",proxy="be_secure:shop:bank:1a2b3c4d",server="pod:bank-1:bank:https:192.0.2.1:8443:9a8b"} 2
haproxy_server_current_sessions{backend="tcp",namespace="shop",route="db",service="db",proxy="be_tcp:shop:db:1a2b3c4d",server="ept:db:tls:2001:db8::1:8443"} 1
haproxy_process_nbthread 4`
	for name, from := range map[string]io.Reader{
		"at once": strings.NewReader(in), "byte by byte": iotest.OneByteReader(strings.NewReader(in)), "data with the end": iotest.DataErrReader(strings.NewReader(in)),
	} {
		got, err := io.ReadAll(iotest.HalfReader(addLabels(io.NopCloser(from))))
		if err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}

func FuzzLabels(f *testing.F) {
	f.Add([]byte(`haproxy_server_x{proxy="be_http:`))
	f.Add([]byte(`haproxy_backend_x{proxy="be_tcp:a:b",server="pod:"}`))
	for _, s := range []string{"\n", "\t", "\r", "\x00", "\f"} {
		f.Add([]byte(`haproxy_server_x{proxy="be_http:a` + s + `:b:c",server="pod:` + s + `:s::1:2"} 1` + s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if got := withLabels(line); len(got) < len(line) {
			t.Errorf("%q became %q", line, got)
		}
	})
}
