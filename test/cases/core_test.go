package cases

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/test/build"
	"github.com/fairlead/fairlead/test/cases/portal"
)

// core is the deciding packages over a cluster of their own, fed with the same
// changes as the real router. It says what ought to be served.
type core struct {
	cluster  *memory
	pipeline *pipeline.Pipeline
}

func newCore(t testing.TB) *core {
	t.Helper()
	m := newMemory()
	return &core{m, freshPipeline(t, m)}
}

func freshPipeline(t testing.TB, m *memory) *pipeline.Pipeline {
	t.Helper()
	return pipelineOf(t, m, m.Settings())
}

func pipelineOf(t testing.TB, src door.Source, s door.Settings) *pipeline.Pipeline {
	t.Helper()
	cert, err := certificate.Default(pki().leaf(t, "default").certPEM, pki().leaf(t, "default").keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	return pipeline.New(frontDoors(), src, s, cert)
}

// apply takes a copy of a change, which HAProxy takes.
func (c *core) apply(ch change) { c.pipeline.Accept(c.propose(ch)) }

// propose takes a copy of a change and returns the routes that it touches.
func (c *core) propose(ch change) model.Objects {
	own := change{del: ch.del, settings: ch.settings}
	for _, o := range ch.put {
		own.put = append(own.put, clone(o))
	}
	c.cluster.apply(own)
	changes := c.cluster.Take()
	if changes.All {
		c.pipeline.SetSettings(c.cluster.Settings())
	}
	_, touched := c.pipeline.Update(changes)
	return touched
}

func clone(o metav1.Object) metav1.Object {
	switch o := o.(type) {
	case *routev1.Route:
		return o.DeepCopy()
	case *corev1.Namespace:
		return o.DeepCopy()
	case *corev1.Service:
		return o.DeepCopy()
	case *discoveryv1.EndpointSlice:
		return o.DeepCopy()
	case *gatewayv1.ReferenceGrant:
		return o.DeepCopy()
	case *corev1.Secret:
		return o.DeepCopy()
	case *corev1.ConfigMap:
		return o.DeepCopy()
	case *portal.Portal:
		return o.DeepCopy()
	case *v1alpha1.RoutePolicy:
		return o.DeepCopy()
	case *v1alpha1.ClusterRoutePolicy:
		return o.DeepCopy()
	}
	panic(fmt.Sprintf("clone of a %T", o))
}

// equalsFull compares the incremental result with computing everything from scratch,
// as the next process of the router would with what this one keeps for it.
func (c *core) equalsFull(t testing.TB) error {
	t.Helper()
	full, err := c.full(t)
	if err != nil {
		return err
	}
	if d := cmp.Diff(full.Want(), c.pipeline.Want(), cmpopts.EquateComparable(netip.AddrPort{})); d != "" {
		return fmt.Errorf("the incremental state differs from the full one (-full +incremental):\n%s", d)
	}
	for _, k := range c.cluster.All() {
		if d := cmp.Diff(full.Status(k), c.pipeline.Status(k)); d != "" {
			return fmt.Errorf("status of %s (-full +incremental):\n%s", k, d)
		}
	}
	return nil
}

// full computes everything from scratch, with what the pipeline keeps for the next
// process.
func (c *core) full(t testing.TB) (*pipeline.Pipeline, error) {
	t.Helper()
	full := freshPipeline(t, c.cluster)
	text, err := json.Marshal(c.keeping())
	if err != nil {
		return nil, err
	}
	kept, err := full.ParseSaved(text)
	if err != nil {
		return nil, err
	}
	full.Restore(kept)
	full.Update(door.Changes{All: true})
	return full, nil
}

// keeping is what the pipeline keeps for the next process.
func (c *core) keeping() (all []pipeline.Saved) {
	for _, key := range c.cluster.All() {
		if k, ok := c.pipeline.Saved(key); ok {
			all = append(all, k)
		}
	}
	return all
}

// decision is where the tables send a request.
type decision struct {
	target  string // as in the maps; "" if nothing matches
	value   string // of that the backend, or the word in its place
	backend *plan.Backend
	cert    string // ID of the certificate that TLS ends with, "" for passthrough
}

// decide looks a request up as HAProxy does.
func decide(want *plan.State, r *request) decision {
	return decideAt(want, 0, r)
}

// decideAt looks up a request that goes to a port of Gateways, or for 0 to those of the router.
func decideAt(want *plan.State, slot int, r *request) decision {
	path, _, _ := strings.Cut(r.target, "?")
	asked := match.Request{Slot: slot, TLS: r.tls, SNI: r.sni, Host: r.host, Path: path, Asked: match.Asked{Method: r.method, Value: r.value}}
	for _, text := range []*string{&asked.SNI, &asked.Host} {
		if *text == "-" { // none
			*text = ""
		}
	}
	d := match.Decide(want.Tables(), asked)
	name := plan.TargetBackend(d.Value)
	return decision{d.Value, name, withBranches(want, name, d.Value), d.Certificate}
}

// withBranches returns a backend with the servers of its canary's branches, any of which
// may answer. Which one does is the case's to say.
func withBranches(want *plan.State, name, target string) *plan.Backend {
	own := want.Backends[name]
	_, record, _ := strings.Cut(target, "|")
	branches, _, _ := strings.Cut(model.RecordField(record, model.FieldCanary), ";")
	if own == nil || branches == "" {
		return own
	}
	all := &plan.Backend{Profile: own.Profile, Servers: slices.Clone(own.Servers)}
	for text := range strings.SplitSeq(branches, "+") {
		branch, _, _ := strings.Cut(text, "*")
		if strings.HasPrefix(branch, "router_") {
			continue // the share of what cannot be used
		}
		if want.Backends[branch] == nil {
			panic("the record names " + branch + ", which is not wanted")
		}
		for _, s := range want.Backends[branch].Servers {
			all.Servers.Set(s.Name, s.Server)
		}
	}
	return all
}

// podName returns the name of the pod at an address, by the servers of the
// backend that ought to have answered.
func (d decision) podName(at string) string {
	if d.backend == nil {
		return ""
	}
	for _, s := range d.backend.Servers {
		if s.Address.String() == at {
			return podOf(s.Name)
		}
	}
	return ""
}

// podOf returns the pod in a server's name, "pod:NAME:…".
func podOf(server string) string {
	f := strings.Split(server, ":")
	if f[0] != "pod" {
		return f[0]
	}
	return f[1]
}

// alive reports whether a server of the decided backend could answer.
func (d decision) alive() bool {
	for _, s := range d.backend.Servers {
		if s.Weight > 0 && s.Address.Port() < firstDeadPort && ours(s.Address.Addr()) {
			return true
		}
	}
	return false
}

// page is the status that the router itself answers, where no backend does.
func (d decision) page() int {
	if status := match.RedirectStatus(d.value); status != 0 {
		return status
	}
	switch d.value {
	case match.BadPath:
		return http.StatusBadRequest
	case match.Misdirected:
		return http.StatusMisdirectedRequest
	case match.TooLong:
		return http.StatusRequestURITooLong
	case match.TooLarge:
		return http.StatusRequestHeaderFieldsTooLarge
	}
	return http.StatusNotFound
}

// agrees compares a response with the decision, whatever the case says.
func (d decision) agrees(e *expectation, r response) error {
	switch {
	case !strings.HasPrefix(e.request.target, "/") || e.status == 400 || e.request.method == "HEAD":
		return nil // HAProxy refuses it before any rule, or the pod cannot say who it is
	case d.backend == nil:
		if r.status != d.page() {
			return fmt.Errorf("the tables give %d (%q), HAProxy answers %d", d.page(), d.value, r.status)
		}
	case r.pod != nil:
		if d.podName(r.pod.Pod) == "" {
			return fmt.Errorf("the tables decide for %s, but pod %s answered", d.value, r.pod.Pod)
		}
	case d.alive() && e.status == 200:
		return fmt.Errorf("the tables decide for %s, but no pod answered: status %d, error %q", d.value, r.status, fmt.Sprint(r.err))
	}
	return nil
}

// ownStatuses are what the router answers by a route's policy, and what comes of pods
// that fail.
var ownStatuses = []int{302, 401, 403, 411, 413, 414, 429, 431, 500, 502, 504}

// pure checks a line against the decision alone.
func (d decision) pure(e *expectation) error {
	got := "503"
	switch {
	case d.backend == nil:
		got = fmt.Sprint(d.page())
	case d.alive():
		got = "200"
	}
	want := fmt.Sprint(e.status)
	if e.status == 101 {
		want = "200"
	}
	if e.closed {
		want = "503"
	}
	switch {
	case !strings.HasPrefix(e.request.target, "/") || e.status == 400 || e.status == 0 || slices.Contains(ownStatuses, e.status), strings.Contains(e.request.target, "fail="):
		return nil
	case got != want && (want != "503" || d.backend == nil) && (want != "200" || e.with == ""):
		return fmt.Errorf("the tables give %s (%q)", got, d.value)
	}
	for _, w := range e.want {
		if w[0] != "pod" || d.backend == nil {
			continue
		}
		var names []string
		for _, s := range d.backend.Servers {
			names = append(names, podOf(s.Name))
		}
		for p := range strings.SplitSeq(w[1], "|") {
			if !slices.Contains(names, p) {
				return fmt.Errorf("%s has no server %s, it has %v", d.value, p, names)
			}
		}
	}
	return nil
}

// checkStatus compares one line of "statuses".
func checkStatus(line string, find func(model.Object) (model.RouteStatus, bool)) error {
	f := strings.SplitN(line, " ", 4)
	k := parseObject("Route", f[0])
	st, ok := find(k)
	if !ok {
		return fmt.Errorf("no status of %s", k)
	}
	switch f[1] {
	case "admitted":
		if !st.Admitted || st.Reason != "" || st.Message != "" {
			return fmt.Errorf("%s: not admitted: %s: %s", k, st.Reason, st.Message)
		}
	case "closed": // admitted, with a message
		if text := strings.TrimPrefix(line, f[0]+" closed "); !st.Admitted || st.Reason != "PolicyClosed" || !strings.Contains(st.Message, text) {
			return fmt.Errorf("%s: admitted %v, %s: %s", k, st.Admitted, st.Reason, st.Message)
		}
	case "quiet":
		if len(st.Findings) > 0 {
			return fmt.Errorf("%s: findings %v", k, st.Findings)
		}
	case "host":
		if st.Host != f[2] {
			return fmt.Errorf("%s: host %q, want %q", k, st.Host, f[2])
		}
	case "refused", "finding":
		want := ""
		if len(f) > 3 {
			want = f[3]
		}
		if f[1] == "refused" && (st.Admitted || string(st.Reason) != f[2] || !strings.Contains(st.Message, want)) {
			return fmt.Errorf("%s: admitted %v, %s: %s", k, st.Admitted, st.Reason, st.Message)
		}
		if err := build.Undeclared(st.Findings); err != nil {
			return fmt.Errorf("%s: %w", k, err)
		}
		for _, finding := range st.Findings {
			if string(finding.Reason) == f[2] && strings.Contains(finding.Field+": "+finding.Text(), want) {
				return nil
			}
		}
		return fmt.Errorf("%s: no finding %s with %q among %v", k, f[2], want, st.Findings)
	default:
		return fmt.Errorf("unknown word in %q", line)
	}
	return nil
}
