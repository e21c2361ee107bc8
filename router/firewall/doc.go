// Package firewall judges requests by the OWASP core rule set, with Coraza. It is a
// process of its own beside HAProxy, which asks it by SPOE about each request of a Route
// with the group firewall:
//
//	HAProxy ──waf.sock──▶ Firewall.Handle ──▶ queue ──▶ Rules.Judge
//
// One compiled rule set serves all settings, because paranoia, threshold and rules left
// out are set for each request. It has no state of its own: what a request is judged by
// comes with it. A question that cannot be answered gets no verdict, and without one
// HAProxy refuses the request, or counts it where the firewall only detects.
package firewall
