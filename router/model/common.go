package model

import "strings"

// Policies of most routes consist of a few groups. For these HAProxy has rules of their
// own, which come first and do not look for the others: package render, commonRules. A
// record has FlagCommon only if those rules do all that it says: whatever is not listed
// here, and whatever comes later, makes a policy an uncommon one.

// commonFlags and commonFields are what such a record may have.
const commonFlags = FlagRestricted + FlagDenied + FlagLimited + FlagCounted + FlagCORS + FlagForwardPreflight +
	FlagRequestHeaders + FlagResponseHeaders + FlagRetryAll

var commonFields = map[Field]bool{
	FieldRequests: true, FieldConcurrent: true, FieldConnections: true,
	FieldRates:         true,
	FieldServerTimeout: true, FieldTunnelTimeout: true,
	FieldStrip: true, FieldRewrite: true, FieldRewriteEmpty: true,
	FieldHSTS: true,
}

// common reports whether a policy with these flags consists of such groups. The values are
// those of the fields from first on.
func (p *Policy) common(flags string, first Field, values []string) bool {
	if strings.Trim(flags, commonFlags) != "" {
		return false
	}
	for i, v := range values {
		if v != "" && !commonFields[first+Field(i)] {
			return false
		}
	}
	return len(p.Rates) == 0 || len(p.Rates) == 1 && p.Rates[0].common()
}

// common reports whether a limit counts all clients by their addresses and refuses what is
// too much.
func (r *RateLimit) common() bool {
	return !r.DryRun && !r.Shared && len(r.Exempt) == 0 && r.Key.record() == "" && r.Match.Any()
}
