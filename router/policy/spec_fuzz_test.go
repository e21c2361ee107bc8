package policy

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// FuzzSpec puts whatever JSON into the spec of a policy, as if the CRD let it through:
// what comes of it is one line of visible ASCII with the fields that there are, and
// what is wrong names a field.
func FuzzSpec(f *testing.F) {
	for _, seed := range []string{
		`{"access":{"allow":["198.18.0.0/15","X"],"deny":["::/0"]}}`,
		`{"redirects":{"appRoot":"/aX","https":{"code":308,"port":8443},"rules":[{"match":{"path":"/X"},"to":{"url":"https://e.test/X"},"code":301}]}}`,
		`{"redirects":{"rules":[{"match":{"path":"/X(.*)","type":"Regex"},"to":{"host":"aXb","regexPath":"/X$1"}},{"match":{"path":"/X"},"to":{"prefix":"/X"}}]}}`,
		`{"cors":{"origins":["https://*.e.test","X"],"methods":["GET","X"],"headers":["X"],"credentials":true,"maxAge":"24h"}}`,
		`{"rewrite":{"prefix":"/X","full":"/X","host":"aXb"},"timeouts":{"connect":"5s","response":"X","idle":"1m","tunnel":"1h","queue":"-1s"}}`,
		`{"headers":{"request":{"set":[{"name":"X-A","value":"%[req.hdr(X)]X"}],"remove":["X"]},"response":{"add":[{"name":"X","value":"b"}]}}}`,
		`{"limits":{"body":{"max":"10Mi"},"uriBytes":64,"headerBytes":-1,"requests":[{"name":"aX","requests":20,"per":"1s","burst":40,"key":{"type":"Header","name":"X"},"exempt":["X"]}],"concurrent":{"count":5,"key":{"type":"Address","ipv6Prefix":56}}}}`,
		`{"limits":{"requests":[{"name":"aX","requests":20,"key":{"type":"Claim","name":"aX.b"},"exempt":["198.18.0.0/15"]},{"name":"b","requests":2,"key":{"type":"Consumer"}}],"concurrent":{"count":5,"key":{"type":"Claim","name":"X"}}}}`,
		`{"fault":{"delay":{"milliseconds":60001,"percent":-1},"abort":{"status":7},"when":[{"type":"X","name":"X","value":"X","match":"X"}]}}`,
		`{"fault":{"delay":{"milliseconds":5},"abort":{"status":503,"percent":3},"when":[{"type":"Cookie","name":"X","value":"X","match":"Regex"}]}}`,
		`{"bandwidth":{"download":"X","upload":-5}}`,
		`{"tracing":{"sampling":"101%","trustIncoming":true}}`,
		`{"firewall":{"mode":"X","paranoia":-1,"threshold":-1,"exclusions":[-1],"requestBody":-1,"bodyOver":"X"}}`,
		`{"mirror":{"targets":[{"service":{"name":"X","port":"X"},"percent":"X","bodyBytes":-1,"hostHeader":"X","headers":{"set":[{"name":"X","value":"X"}],"remove":["X"],"keep":["X"]},"maxInFlight":-1},{"url":"X"}]}}`,
		`{"maintenance":{"enabled":true,"exempt":["X"],"retryAfter":-5},"log":{"percent":101,"requestID":"X"}}`,
		`{"canary":{"total":100,"services":[{"name":"X","weight":10,"when":[{"type":"Header","name":"X","match":"Regex","value":"^X"},{"type":"Query","name":"aX","value":"X","to":"X"}]}],"sticky":{"ttl":"X"}},"retries":{"attempts":3,"when":"X","nonIdempotent":true},"loadBalancing":{"algorithm":"Hash","hash":{"type":"Cookie","name":"X"}},"cookies":{"path":{"from":"/X","to":"/X"},"domain":{"from":"X.test","to":"X.test"},"secure":true,"sameSite":"None"},"location":{"from":"http://X","to":"/X"},"affinity":{"type":"Cookie","cookie":{"name":"X","path":"/X","domain":"X.test","sameSite":"Lax","secure":true,"maxAge":"1h","partitioned":true}}}`,
		`{"authentication":{"basic":{"secret":"X","realm":"X"},"external":{"service":{"name":"X","path":"/X"}},"jwt":{"issuers":[{"issuer":"X","secret":"X"}]}}}`,
	} {
		for _, odd := range []string{"", "a", `\n`, `\t`, `\r`, `\u0000`, `\f`, "|", "+", ":", "=", ";", "%", `\"`, "é", "~"} {
			f.Add([]byte(strings.ReplaceAll(seed, "X", odd)))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var spec v1alpha1.PolicySpec
		if json.Unmarshal(text, &spec) != nil {
			return
		}
		var p model.Policy
		for _, problem := range Compile(&spec, &p) {
			if problem.Key == "" || problem.Message == "" || !problem.Closes && problem.Effect == "" {
				t.Errorf("a problem that does not say what is wrong: %+v", problem)
			}
		}
		record := p.Record()
		if strings.ContainsFunc(record, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("%q cannot stand in a map", record)
		}
		// A value with a separator would move all that follow it.
		if again := model.RecordField(record, model.FieldUnlogged); p.Unlogged > 0 && again != strconv.Itoa(p.Unlogged) {
			t.Errorf("%q has %q where %d was written", record, again, p.Unlogged)
		}
		if again := model.RecordField(record, model.FieldPodHost); again != p.PodHost {
			t.Errorf("%q has %q where %q was written", record, again, p.PodHost)
		}
		if n := len(p.Rates) + len(p.Identified) + len(p.Shared) + len(p.SharedIdentified); n > model.MaxLimits && len(spec.Limits.Requests) <= model.MaxLimits {
			t.Errorf("%d limits of %d", n, len(spec.Limits.Requests))
		}
	})
}
