package observe

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead/fairlead/router/model"
)

const (
	routeKind = "Route"
	// MaxTargets bounds the objects that one reader names.
	MaxTargets = 50
)

// kinds are the objects that requests are for, as names of backends have them.
var kinds = []string{routeKind, "HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute"}

// Kinds are the kinds of objects that can be observed.
func Kinds() []string { return slices.Clone(kinds) }

// kindOf returns a kind that is written in small letters.
func kindOf(small string) string {
	for _, k := range kinds {
		if strings.EqualFold(k, small) {
			return k
		}
	}
	return small
}

// Target is what is observed: one object, all of a namespace if Name is empty, or everything
// if Namespace is, too.
type Target struct{ Kind, Namespace, Name string }

// String is KIND/NAMESPACE/NAME, NAMESPACE, or "".
func (t Target) String() string {
	if t.Name == "" {
		return t.Namespace
	}
	return strings.ToLower(t.Kind) + "/" + t.Namespace + "/" + t.Name
}

// Keys begin the routing values of the target's requests (model.Backend.Name). Everything
// includes redirects to https, and requests that no object takes.
func (t Target) Keys() []string {
	if t.Namespace == "" {
		return []string{"be_", "!"}
	}
	var keys []string
	for _, kind := range []model.BackendKind{model.KindHTTP, model.KindEdge, model.KindSecure, model.KindTCP} {
		begin := string(kind) + ":" + t.Namespace + ":"
		switch {
		case t.Name == "":
			keys = append(keys, begin)
		case t.Kind == routeKind:
			keys = append(keys, begin+t.Name+":", begin+t.Name+"_")
		default:
			begin += t.Kind + "_" + t.Name
			keys = append(keys, begin+":", begin+"_")
		}
	}
	return keys
}

// Filter chooses records. Its zero value takes all.
type Filter struct {
	// Targets are what is observed; none is everything.
	Targets []Target
	// Host, Method and Pod are compared without regard to case; empty is any.
	Host, Method, Pod string
	// Path begins the path.
	Path string
	// Status is one, such as "503", or a class, such as "5xx"; empty is any.
	Status string
	// Slow is the least total time.
	Slow time.Duration
	// Client is where the client's address is; the zero value is anywhere.
	Client netip.Prefix
}

// Keys begin the routing values of all requests that the filter may take.
func (f *Filter) Keys() []string {
	if len(f.Targets) == 0 {
		return Target{}.Keys()
	}
	var keys []string
	for _, t := range f.Targets {
		keys = append(keys, t.Keys()...)
	}
	return keys
}

// Takes reports whether a record is one of those that the filter is for.
func (f *Filter) Takes(r *Record) bool {
	if len(f.Targets) > 0 && !slices.ContainsFunc(f.Targets, func(t Target) bool { return t.takes(r) }) {
		return false
	}
	same := func(want, is string) bool { return want == "" || strings.EqualFold(want, is) }
	if !same(f.Host, hostOf(r)) || !same(f.Method, r.Method) || !same(f.Pod, r.Pod) || !strings.HasPrefix(r.Path, f.Path) {
		return false
	}
	if f.Client.IsValid() {
		client, err := netip.ParseAddr(r.Client)
		if err != nil || !f.Client.Contains(client.Unmap()) {
			return false
		}
	}
	return r.Timers.Total >= f.Slow.Seconds() && f.takesStatus(r.Status)
}

// takes compares with what Keys cover: those of a Route begin also names of other kinds.
func (t Target) takes(r *Record) bool {
	return t.Namespace == "" || t.Namespace == r.Namespace && (t.Name == "" || t.Kind == r.Kind && t.Name == r.Route)
}

func (f *Filter) takesStatus(status int) bool {
	class, isClass := strings.CutSuffix(f.Status, "xx")
	switch {
	case f.Status == "":
		return true
	case isClass:
		return status > 0 && strconv.Itoa(status/100) == class
	}
	return strconv.Itoa(status) == f.Status
}

// hostOf is the host that a request names, without port, or a connection.
func hostOf(r *Record) string {
	if r.Host == "" {
		return r.ServerName
	}
	host := r.Host
	if at := strings.LastIndexByte(host, ':'); at > strings.LastIndexByte(host, ']') {
		host = host[:at]
	}
	return strings.TrimSuffix(host, ".")
}

// The parameters of a query that a filter is written as.
const (
	paramRoute     = "route"
	paramNamespace = "namespace"
	paramHost      = "host"
	paramMethod    = "method"
	paramPath      = "path"
	paramPod       = "pod"
	paramStatus    = "status"
	paramSlow      = "slow"
	paramClient    = "client"
)

// Query writes the filter as a query that ParseFilter reads.
func (f *Filter) Query() url.Values {
	q := url.Values{}
	for _, t := range f.Targets {
		if t.Name == "" {
			q.Add(paramNamespace, t.Namespace)
		} else {
			q.Add(paramRoute, t.String())
		}
	}
	for name, value := range map[string]string{paramHost: f.Host, paramMethod: f.Method, paramPath: f.Path, paramPod: f.Pod, paramStatus: f.Status} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.Slow > 0 {
		q.Set(paramSlow, f.Slow.String())
	}
	if f.Client.IsValid() {
		q.Set(paramClient, f.Client.String())
	}
	return q
}

// ParseFilter reads a filter. A parameter that is unknown, or cannot be read, is an error:
// it must not become a filter that takes more than was asked for.
func ParseFilter(q url.Values) (*Filter, error) {
	f := &Filter{}
	for name, values := range q {
		for _, v := range values {
			if err := f.set(name, v); err != nil {
				return nil, err
			}
		}
	}
	if len(f.Targets) > MaxTargets {
		return nil, fmt.Errorf("%d objects and namespaces; at most %d can be named, and none is all", len(f.Targets), MaxTargets)
	}
	slices.SortFunc(f.Targets, func(a, b Target) int { return strings.Compare(a.String(), b.String()) })
	return f, nil
}

// Add adds an object, as KIND/NAMESPACE/NAME.
func (f *Filter) Add(object string) error {
	t, err := parseTarget(object)
	if err == nil {
		f.Targets = append(f.Targets, t)
	}
	return err
}

func (f *Filter) set(name, v string) (err error) {
	switch name {
	case paramRoute:
		err = f.Add(v)
	case paramNamespace:
		if !plain(v) {
			return fmt.Errorf("namespace %q is no name", v)
		}
		f.Targets = append(f.Targets, Target{Namespace: v})
	case paramHost:
		f.Host = v
	case paramMethod:
		f.Method = v
	case paramPath:
		f.Path = v
	case paramPod:
		f.Pod = v
	case paramStatus:
		f.Status = v
		err = checkStatus(v)
	case paramSlow:
		if f.Slow, err = time.ParseDuration(v); err != nil || f.Slow < 0 {
			return fmt.Errorf("slow=%q is no time, such as 500ms", v)
		}
	case paramClient:
		f.Client, err = parseClient(v)
	default:
		return fmt.Errorf("parameter %q is unknown", name)
	}
	return err
}

// parseTarget reads NAMESPACE/NAME of a Route, or KIND/NAMESPACE/NAME.
func parseTarget(v string) (Target, error) {
	parts := strings.Split(v, "/")
	if len(parts) == 2 {
		parts = append([]string{routeKind}, parts...)
	}
	t := Target{Kind: kindOf(parts[0])}
	if len(parts) != 3 || !slices.Contains(kinds, t.Kind) || !plain(parts[1]) || !plain(parts[2]) {
		return t, fmt.Errorf("%q is neither NAMESPACE/NAME nor KIND/NAMESPACE/NAME with a kind of: %s", v, strings.Join(kinds, ", "))
	}
	t.Namespace, t.Name = parts[1], parts[2]
	return t, nil
}

// plain reports whether a text has the characters of names of Kubernetes objects only, so
// that it is a word for HAProxy, and ends where a name of a backend goes on.
func plain(name string) bool {
	return name != "" && len(name) <= 253 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") == ""
}

func checkStatus(v string) error {
	if len(v) == 3 && v[0] >= '1' && v[0] <= '5' {
		if _, err := strconv.Atoi(v); err == nil || v[1:] == "xx" {
			return nil
		}
	}
	return fmt.Errorf("status=%q is neither a status, such as 503, nor a class, such as 5xx", v)
}

// parseClient reads an address or a network.
func parseClient(v string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(v); err == nil && a.Zone() == "" {
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(v)
	if err != nil || p.Addr().Is4In6() {
		return p, errors.New("client=" + strconv.Quote(v) + " is neither an address nor a network, such as 198.51.100.0/24")
	}
	return p.Masked(), nil
}
