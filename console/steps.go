package console

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/fairlead/fairlead/router/explain"
)

// steps are the way of a request, in the order in which the router takes them.
func steps(e *explain.Explanation) []step {
	out := []step{{Name: "Listener", Text: fmt.Sprintf("%s, port %d, of router %s", e.Listener.Name, e.Listener.Port, e.Router)}}
	if e.Gateway != "" {
		out[0].Text = fmt.Sprintf("%s, port %d, of Gateway %s", cmp.Or(e.Listener.Name, "none"), e.Listener.Port, e.Gateway)
	}
	if e.Listener.Name != "http" && (e.Gateway == "" || e.SNI != "") {
		out = append(out, step{Name: "Server name of the TLS hello", Text: cmp.Or(e.SNI, "none")})
	}
	if c := e.Certificate; c != nil {
		out = append(out, step{Name: "Certificate", Text: certificateText(c)})
	}
	host := step{Name: "Host", Text: e.Host}
	if e.Host != "" {
		host.Link = []any{"hosts", e.Host}
	}
	out = append(out, host)
	if e.Listener.Name != "passthrough" {
		out = append(out, step{Name: "Path", Text: e.Path})
	}
	if e.Gateway != "" {
		out = append(out, step{Name: "Route", Text: cmp.Or(e.GatewayRoute, "no route of the Gateway takes this request")})
	} else if r := e.Route; r != nil && r.Hidden {
		out = append(out, step{Name: "Route", Text: "one of a namespace that you may not see"})
	} else if r != nil {
		out = append(out, step{Name: "Route", Text: r.Namespace + "/" + r.Name + ": " + claimText(r), Link: []any{"routes", r.Namespace, r.Name}})
	} else {
		out = append(out, step{Name: "Route", Text: "no Route decides this request"})
	}
	if e.Branch != nil {
		out = append(out, step{Name: "Canary", Text: branchText(e.Branch)})
	}
	if e.Backend != "" {
		out = append(out, step{Name: "Backend of HAProxy", Text: e.Backend})
	}
	if e.PodPath != "" {
		out = append(out, step{Name: "Path that the pod gets", Text: e.PodPath})
	}
	return append(out, step{Name: "Result", Text: e.Result.Text})
}

// claimText is what a Route asks for.
func claimText(r *explain.RouteInfo) string {
	text := r.Host + cmp.Or(r.Path, "/")
	if r.Exact {
		text += " (exact)"
	}
	return text + ", " + tlsText(r)
}

// tlsText says where TLS ends, and what becomes of plain HTTP.
func tlsText(r *explain.RouteInfo) string {
	switch {
	case r.Termination == "":
		return "without TLS"
	case r.Insecure != "" && r.Termination != "passthrough":
		return r.Termination + ", plain HTTP: " + r.Insecure
	}
	return r.Termination
}

func branchText(b *explain.Branch) string {
	switch {
	case b.Backend == "":
		return b.Why
	case b.Canary:
		return "to the canary: " + b.Why
	}
	return "not to the canary: " + b.Why
}

// certificateText says what a TLS client is shown.
func certificateText(c *explain.Certificate) string {
	text := c.Source
	if c.Route != "" {
		text += " " + c.Route
	}
	if names := strings.Join(first(c.Names, 10), ", "); names != "" {
		text += ": " + names
	} else if c.Subject != "" {
		text += ": " + c.Subject
	}
	if c.Expires != nil {
		word := "ends"
		if c.Expired {
			word = "has EXPIRED"
		}
		text += ", " + word + " " + c.Expires.Format(time.DateOnly)
	}
	if c.Covers != nil && !*c.Covers {
		text += ", does NOT cover the name"
	}
	if c.Note != "" {
		text += " (" + c.Note + ")"
	}
	return text
}
