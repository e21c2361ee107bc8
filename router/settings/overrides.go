package settings

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/model"
)

// maxHealthChecks is the largest number of health checks a second that a
// namespace can be given.
const maxHealthChecks = 100_000

// overrides reads spec.unsupportedConfigOverrides, whose values are texts.
func (r *reader) overrides() {
	const field = "spec.unsupportedConfigOverrides"
	raw := r.spec.UnsupportedConfigOverrides.Raw
	if len(raw) == 0 {
		return
	}
	var all map[string]any
	if err := json.Unmarshal(raw, &all); err != nil {
		r.refuse(field, "is no object: %v", err)
		return
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		value, isText := all[key].(string)
		at := field + "." + key
		if !isText {
			r.refuse(at, "must be a text, such as \"true\"")
			continue
		}
		r.override(at, key, value)
	}
}

func (r *reader) override(field, key, value string) {
	boolean := func(into *bool, when string) {
		switch value {
		case "true", "false":
			*into = value == when
		default:
			r.refuse(field, "must be \"true\" or \"false\"")
		}
	}
	switch key {
	case "loadBalancingAlgorithm":
		switch value {
		case "leastconn":
			r.out.Ingest.Balance = model.LeastConn
		case "random", "":
		default:
			r.find(field, "must be leastconn or random", "random is used")
		}
	case "mutualTLSHeaderFilter":
		boolean(&r.out.Render.ClientTLS.KeepHeaders, "false")
	case "maxRSABits":
		n, err := strconv.Atoi(value)
		if err != nil || n < certificate.MinRSABits || n > certificate.MaxRSABits {
			r.refuse(field, "must be a whole number from %d to %d", certificate.MinRSABits, certificate.MaxRSABits)
			return
		}
		r.out.Ingest.MaxRSABits = n
	case "maxHealthChecksPerNamespace":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > maxHealthChecks {
			r.refuse(field, "must be a whole number from 1 to %d", maxHealthChecks)
			return
		}
		r.out.Ingest.NamespaceChecks = n
	case "policies", "firewall": // which decide about the pod: Policies, Firewall
		if value != PoliciesEnabled && value != PoliciesDisabled {
			used := map[string]string{"policies": PoliciesEnabled, "firewall": PoliciesDisabled}[key]
			r.find(field, "must be Enabled or Disabled", used+" is used")
		}
	case "bandwidthLimits":
		switch value {
		case PoliciesEnabled, PoliciesDisabled:
			r.out.Render.HTTP.Bandwidth = value == PoliciesEnabled
			r.out.Ingest.Bandwidth = r.out.Render.HTTP.Bandwidth
		default:
			r.refuse(field, "must be Enabled or Disabled")
		}
	case "maxConnectionsPerSource":
		r.clientLimit(field, value, &r.out.Render.Clients.PerSource)
	case "maxTLSConnectionRatePerSource":
		r.clientLimit(field, value, &r.out.Render.Clients.TLSRate)
	case "unlimitedSources":
		r.exemptSources(field, value)
	case "proxyProtocolSources":
		r.proxySources(field, value)
	case "contStats":
		boolean(&r.out.Render.HTTP.ContinuousStats, "true")
	case "dynamicConfigManager", "maxDynamicServers":
		r.inform(field, "Routes always change without a reload where HAProxy can")
	default:
		r.inform(field, "Fairlead has no such override")
	}
}

// withoutEffect reports fields that are set and mean nothing here.
func (r *reader) withoutEffect() {
	t := &r.spec.TuningOptions
	if t.ReloadInterval.Duration != 0 {
		r.inform("spec.tuningOptions.reloadInterval", "reloads that are left are at most one a second")
	}
	if t.ConfigurationManagement != "" {
		r.inform("spec.tuningOptions.configurationManagement", "Routes always change without a reload where HAProxy can")
	}
}

// inform is a hint that a value has no effect, and why that does not matter.
func (r *reader) inform(field, why string) {
	r.findings = append(r.findings, api.Finding{
		Object: r.ref, Field: field, Reason: api.ReasonNoEffect, Severity: api.SeverityInfo, Message: "has no effect: " + why,
	})
}

// The values of the overrides policies, firewall and bandwidthLimits.
const (
	PoliciesEnabled  = "Enabled"
	PoliciesDisabled = "Disabled"
)

// Policies reports whether the routers of an IngressController have the policy agent:
// all do, unless unsupportedConfigOverrides.policies is Disabled.
func Policies(spec *operatorv1.IngressControllerSpec) bool {
	var o struct {
		Policies any `json:"policies"`
	}
	if raw := spec.UnsupportedConfigOverrides.Raw; len(raw) == 0 || json.Unmarshal(raw, &o) != nil {
		return true
	}
	return o.Policies != PoliciesDisabled
}

// Firewall reports whether the routers of an IngressController have a firewall: only with
// unsupportedConfigOverrides.firewall: Enabled.
func Firewall(spec *operatorv1.IngressControllerSpec) bool {
	var o struct {
		Firewall any `json:"firewall"`
	}
	raw := spec.UnsupportedConfigOverrides.Raw
	return len(raw) > 0 && json.Unmarshal(raw, &o) == nil && o.Firewall == PoliciesEnabled
}
