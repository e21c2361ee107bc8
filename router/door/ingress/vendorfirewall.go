package ingress

import (
	"fmt"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
)

// nginxFirewall are the annotations of ingress-nginx about ModSecurity. By themselves they
// only detect there, too: what blocks is a snippet, which closes, or the ConfigMap.
func nginxFirewall(t map[string]vendorAnnotation) {
	const differs = "requests are judged by Coraza with the core rule set, and none is refused; where the ConfigMap has SecRuleEngine On, write a ClusterRoutePolicy with firewall.mode Block"
	for _, key := range []string{"enable-modsecurity", "enable-owasp-core-rules"} {
		t[key] = vendorAnnotation{carry: detect, protects: enabled, becomes: "`firewall` with mode Detect", differs: differs}
	}
	t["modsecurity-transaction-id"] = vendorAnnotation{carry: transactionID, becomes: "nothing: the log of the firewall has X-Request-ID", differs: "$request_id only"}
}

func detect(value string, into *carried) error {
	switch value {
	case "true":
		into.detects, into.differs = into.field, "no request is refused; a ClusterRoutePolicy with firewall.mode Block does that"
	case "false":
	default:
		return fmt.Errorf("%q is neither true nor false", value)
	}
	return nil
}

func transactionID(value string, _ *carried) error {
	if value != "$request_id" {
		return fmt.Errorf("%q is not $request_id", value)
	}
	return nil
}

func (c *conversion) finishFirewall(into *carried) {
	if into.detects != "" {
		c.shape(into, into.detects, func(s *v1alpha1.PolicySpec) { s.Firewall = &v1alpha1.Firewall{Mode: "Detect"} })
	}
}
