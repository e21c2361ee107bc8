package model

import "strings"

// Record returns the part of the policy that rules read as one line of fields, or an
// empty text if each has its default.
func (p *Policy) Record() string { return p.record(Cookie{}) }

// record begins with "|" if nothing but a sticky cookie is asked for, and with FlagTraced if
// nothing but tracing is, so that rules can leave most requests alone after one look. No field holds a "|": doors see to it.
func (p *Policy) record(c Cookie) string {
	flags := p.flags()
	mode := forwardedMode(p.Forwarded) + flags
	values := make([]string, 0, len(fields))
	values = append(values, c.Name, c.Attributes)
	more := false
	for f := FieldCookieAttributes + 1; f < endOfFields; f++ {
		v := fields[f](p)
		values, more = append(values, v), more || v != "" && f != FieldTracing
	}
	switch {
	case mode == ModeAppend+flag(p.Tracing.On, FlagTraced) && !more:
		mode = flag(p.Tracing.On, FlagTraced)
	case p.common(flags, FieldCookieAttributes+1, values[2:]):
		mode += FlagCommon
	}
	return strings.TrimRight(mode+separator+strings.Join(values, separator), separator)
}

// flags say what a policy asks for, so that rules look at one place before they look further.
func (p *Policy) flags() string {
	return flag(p.Restricted, FlagRestricted) +
		flag(len(p.Deny) > 0, FlagDenied) +
		flag(p.Limits != Limits{}, FlagLimited) +
		flag(p.counted(), FlagCounted) +
		flag(p.countsByBits(), FlagCountedByBits) +
		flag(len(p.Identified)+len(p.IdentifiedConcurrents) > 0, FlagIdentified) +
		flag(p.Sizes != Sizes{}, FlagSized) +
		flag(len(p.Redirects) > 0, FlagRedirected) +
		flag(p.Maintenance != nil, FlagMaintenance) +
		flag(p.Unlogged > 0, FlagUnlogged) +
		flag(p.Agent != nil, FlagAsked) +
		flag(p.Agent != nil && p.Agent.Strips, FlagStripped) +
		flag(p.APIKeys != nil, FlagKeyed) +
		flag(p.APIKeys != nil && p.APIKeys.Demanded, FlagKeyDemanded) +
		flag(p.APIKeys != nil && p.APIKeys.Strips, FlagKeyStripped) +
		flag(p.Timeouts.Connect > 0 || p.Timeouts.Queue > 0 || p.Timeouts.Idle > 0, FlagTimeouts) +
		flag(p.PodHost != "", FlagPodHost) +
		flag(p.RequestID == RequestIDKeep, FlagKeepID) +
		flag(p.RequestID == RequestIDReplace, FlagReplaceID) +
		flag(p.CORS != nil, FlagCORS) +
		flag(p.CORS != nil && p.CORS.Forward, FlagForwardPreflight) +
		flag(len(p.RequestHeaders) > 0, FlagRequestHeaders) +
		flag(p.ChangesAnswers(), FlagResponseHeaders) +
		flag(p.Canary != nil, FlagCanary) +
		flag(len(p.BranchHeaders)+len(p.BranchRewrites) > 0, FlagBranch) +
		flag(p.branchPaths(), FlagBranchPath) +
		flag(p.Hash != nil, FlagHash) +
		flag(p.RetryAll, FlagRetryAll) +
		flag(p.Timeouts.Total > 0, FlagTotalTimeout) +
		flag(p.patterned(), FlagPattern) +
		flag(p.Pages.Shown(), FlagPages) +
		flag(p.Fault != nil, FlagFault) +
		flag(p.Mirror != nil, FlagMirror) +
		flag(p.Bandwidth != Bandwidth{}, FlagBandwidth) +
		flag(len(p.Shared) > 0 || len(p.SharedIdentified) > 0 && p.Agent == nil, FlagShared) +
		flag(p.Firewall != nil, FlagFirewall) +
		flag(p.Firewall.Blocks(), FlagFirewallBlocks) +
		certificateFlags(p.Certificate) +
		flag(p.Tracing.On, FlagTraced)
}
