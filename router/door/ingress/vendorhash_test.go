package ingress

import (
	"testing"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/policy"
)

func TestHashBy(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"$request_uri": "uri", "$uri": "path", "${host}": "host", "$remote_addr": "address", "$http_x_user_id": "header:x-user-id",
		"$cookie_sid": "cookie:sid", "$arg_id": "query:id", "$binary_remote_addr": "address",
		"$request_uri$host": "", "$scheme": "", "user": "", "$http_": "", "": "", "$ssl_client_s_dn": "",
	} {
		out := Convert(Input{Ingress: at("web", "shop.test", "/", "web", prefixNginx+"upstream-hash-by", value), Services: canaryServices()})
		annotations := out.Routes[0].Annotations
		if got := annotations[policy.AnnotationHashBy]; got != want || (annotations[api.AnnotationDisableCookies] == "true") != (want != "") {
			t.Errorf("%q became %q, %v", value, got, annotations)
		}
		if (len(out.Findings) > 0) != (want == "") {
			t.Errorf("%q: findings %v", value, out.Findings)
		}
	}
	out := Convert(Input{Ingress: at("web", "shop.test", "/", "web", prefixNginx+"upstream-hash-by", "$uri", prefixNginx+"affinity", "cookie"), Services: canaryServices()})
	if got := out.Routes[0].Annotations[api.AnnotationDisableCookies]; got != "" {
		t.Errorf("with affinity: cookie the sticky cookie is switched off: %q", got)
	}
}
