package render

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/templates"
)

// descriptionPrefix marks, in "show info", a process that runs our skeleton.
const descriptionPrefix = "fairlead-"

// Base is everything that HAProxy starts from, save what routes ask for.
type Base struct {
	// Text is the configuration without route backends.
	Text string
	// Fingerprint is shown by a running process as its description. A process
	// with another fingerprint needs a reload.
	Fingerprint string
	// Files are further files that Text names, by path.
	Files map[string]string
	// Slots are the blocks of ports that have a list of certificates each.
	Slots []Slots
}

// oneParser lets one goroutine at a time use the library that reads and writes
// configurations: it keeps the last section of defaults in a variable of its package.
var oneParser sync.Mutex

// Skeleton returns the base of some settings. Several goroutines may call it.
func Skeleton(s Settings, l Layout, caps plan.Capabilities) (Base, error) {
	oneParser.Lock()
	defer oneParser.Unlock()
	skeleton, err := parseForm("haproxy.cfg", templates.Skeleton)
	if err != nil {
		return Base{}, fmt.Errorf("parse the HAProxy template: %w", err)
	}
	s = s.withDefaults()
	data, base := newTemplateData(s, l, caps), Base{Files: baseFiles(s, l, caps), Slots: []Slots{s.HTTPSSlots, s.FallbackSlots, s.TLSSlots}}
	var body bytes.Buffer
	write := func(description string) error {
		if data.Head, err = buildHead(s, l, caps, description); err != nil {
			return err
		}
		body.Reset()
		if err := skeleton.fill(&body, data); err != nil {
			return fmt.Errorf("render the HAProxy template: %w", err)
		}
		return nil
	}
	if err := write("fairlead"); err != nil {
		return Base{}, err
	}
	h := fnv.New64a()
	_, _ = h.Write(body.Bytes())
	for _, path := range slices.Sorted(maps.Keys(base.Files)) {
		_, _ = h.Write([]byte(base.Files[path]))
	}
	base.Fingerprint = descriptionPrefix + strconv.FormatUint(h.Sum64(), 16)
	if err := write(base.Fingerprint); err != nil {
		return Base{}, err
	}
	base.Text = body.String()
	return base, structure(base.Text)
}

// baseFiles are the files that the skeleton names.
func baseFiles(s Settings, l Layout, caps plan.Capabilities) map[string]string {
	files := map[string]string{
		filepath.Join(l.PagesDir(), "503.http"): string(templates.Unavailable),
		filepath.Join(l.PagesDir(), "404.html"): string(templates.NotFound),
		l.maintenanceFile():                     string(templates.Maintenance),
		l.JournalLua():                          string(templates.JournalLua),
		l.LuaFile():                             string(templates.RequestsLua) + string(templates.ConditionsLua) + string(templates.AnswersLua) + string(templates.HeadersLua) + string(templates.LimitsLua) + string(templates.APIKeysLua) + string(templates.CertificatesLua) + string(templates.CanaryLua) + string(templates.FaultLua) + string(templates.MirrorLua) + string(templates.HashLua) + string(templates.RewriteLua) + string(templates.RedirectLua) + string(templates.PagesLua) + string(templates.RefusalsLua) + string(templates.FirewallLua),
		l.RefusalsFile():                        "",
		l.ObserveFile():                         "",
	}
	for path, text := range map[string]string{
		filepath.Join(l.PagesDir(), "503.http"): s.Pages.Unavailable,
		l.notFoundFile():                        s.Pages.NotFound,
		l.clientCAFile():                        s.ClientTLS.CA,
		l.clientCRLFile():                       s.ClientTLS.CRL,
		l.exemptFile():                          s.Clients.Exempt,
		l.proxySourcesFile():                    s.Clients.ProxySources,
	} {
		if text != "" {
			files[path] = text
		}
	}
	if s.HTTPSSlots.Count+s.FallbackSlots.Count+s.TLSSlots.Count > 0 {
		files[l.SlotDefault()] = slotDefaultPEM()
	}
	maps.Copy(files, pageFiles(s, l, caps))
	if a := agentOf(s, l, caps); a != nil {
		files[a.ConfigFile] = strings.Join(a.Config(), "\n") + "\n"
	}
	if f := firewallOf(s, l, caps); f != nil {
		files[f.configFile] = strings.Join(f.config(), "\n") + "\n"
	}
	return files
}

func (l Layout) maintenanceFile() string { return filepath.Join(l.PagesDir(), "maintenance.html") }

func (l Layout) notFoundFile() string  { return filepath.Join(l.PagesDir(), "404.http") }
func (l Layout) clientCAFile() string  { return filepath.Join(l.Dir, "client-ca.pem") }
func (l Layout) clientCRLFile() string { return filepath.Join(l.Dir, "client-crl.pem") }

// templateData is what the template prints. The lists are lines.
type templateData struct {
	// CookieName and CookieAttributes are places in a policy record.
	CookieName, CookieAttributes model.Field

	// Head has the sections that buildHead makes.
	Head                  string
	RunDir, MapsDir       string
	PagesDir              string
	CrtList, Inspect      string
	Timeouts              []string
	HTTPBinds, HTTPSBinds []string
	// HTTPOptions and SortOptions begin the frontends that route HTTP and the
	// one that sorts TLS connections; SortRules end the latter's rules.
	HTTPOptions, SortOptions, SortRules []string
	// TLSBind ends the bind line of the frontend that ends TLS, TLSOptions
	// stand before its rules.
	TLSBind    string
	TLSOptions []string
	// ClientBind is the listener for client certificates of single hosts, ClientSort
	// leads connections to ClientBackend, and that leads them there.
	ClientBind                string
	ClientSort, ClientBackend []string
	CleanRules, CertRules     []string
	// ObserveRules follow the look-ups of a request; ObserveSections are what they write to.
	ObserveRules, ObserveSections []string
	// HostRules follow the first look-up of a request.
	HostRules    []string
	RequestRules []string
	// ClientRules begin the rules of the frontends that route HTTP, PolicyRules
	// and TLSPolicyRules end them, and ProfileRules end those of their backends.
	ClientRules, PolicyRules, TLSPolicyRules, ProfileRules []string
	// ConnectionRules and TLSConnectionRules decide about new connections,
	// CrowdRules about keeping them; SourceTable counts them.
	ConnectionRules, TLSConnectionRules, CrowdRules []string
	SourceTable                                     string
	// AccessConnectionRules and LimitConnectionRules end the rules of passthrough
	// backends; LimitTables are the names and definitions of the tables of limits.
	AccessConnectionRules, LimitConnectionRules []string
	LimitTables                                 [][2]string
	// AnyHTTP and AnyHTTPS look for routes for any host; ConditionsHTTP and
	// ConditionsHTTPS then decide between claims with conditions.
	AnyHTTP, AnyHTTPS               []string
	ConditionsHTTP, ConditionsHTTPS []string
	// SlotFrontends serve Gateways; SlotMissRules end their look-ups.
	SlotFrontends []slotSection
	SlotMissRules []string
	// StreamSlotFrontends serve those listeners of Gateways that see no requests;
	// EndServers are where TLS of such connections ends.
	StreamSlotFrontends []slotSection
	EndServers          []string
	// Gateways says that there is anything of the Gateway API. AttemptsRule leads its requests to
	// AttemptSections; SharedRules and SharedAnswers are for those at the router's own ports.
	Gateways                   bool
	AttemptsRule               string
	SharedRules, SharedAnswers []string
	// GRPCTypeRule completes answers for clients of gRPC.
	GRPCTypeRule    string
	AttemptSections []string
	// ResponseRules are for what comes from backends, AfterRules for all answers.
	ResponseRules, AfterRules []string
	// AgentSections and FirewallSections are those of the policy agent and the firewall.
	AgentSections, FirewallSections []string
	NotFound                        string
	Redirects                       []int
	ProfileOptions                  []string
	Tunnel                          string
	HTTPProfiles                    []profile
	TCPProfiles                     []profile
}

type profile struct {
	Name, Balance, Tunnel string
	Cookie                bool
	Retries               int
	Options               []string
	Rules                 []string
}

func newTemplateData(s Settings, l Layout, caps plan.Capabilities) *templateData {
	agent := agentOf(s, l, caps)
	d := &templateData{
		CookieName: model.FieldCookieName, CookieAttributes: model.FieldCookieAttributes,
		RunDir: l.RunDir(), MapsDir: l.MapsDir(), PagesDir: l.PagesDir(), CrtList: l.CrtList(),
		Inspect: milliseconds(s.Timeouts.Inspect), Tunnel: milliseconds(s.Timeouts.Tunnel),
		Timeouts:  s.Timeouts.lines(),
		HTTPBinds: binds(s, l, "public", s.HTTPPort), HTTPSBinds: binds(s, l, "public_ssl", s.HTTPSPort),
		HTTPOptions: slices.Concat(httpOptions(s, caps), ownErrorOptions(s, l, caps, false)), SortOptions: sortOptions(s, caps), SortRules: sortRules(s, l, caps),
		TLSBind: tlsBind(s, l), TLSOptions: tlsOptions(s), CleanRules: append(silentRules(s, "http-request"), cleanRules(s)...), ObserveRules: observeRules(s, l, caps), ObserveSections: observeSections(s, caps), HostRules: hostRules(), CertRules: certificateRules(s),
		ClientBind: clientBind(l, caps), ClientSort: clientSortRule(s), ClientBackend: clientBackend(l),
		RequestRules: requestRules(s), PolicyRules: policyRules(s, l, caps, false, nil, guardRules(l, caps, false)), TLSPolicyRules: policyRules(s, l, caps, true, nil, guardRules(l, caps, true)),
		ClientRules: clientRules(), ProfileRules: profileRules(caps),
		ConnectionRules: connectionRules(s, l, plainFrontend), TLSConnectionRules: connectionRules(s, l, tlsFrontend),
		CrowdRules: crowdRules(s), SourceTable: sourceTable(s),
		AccessConnectionRules: accessConnectionRules(l), LimitConnectionRules: limitConnectionRules(s), LimitTables: slices.Concat(limitTables(s), rateTables(s)),
		AnyHTTP: anyHostRules(s, l, plan.MapHTTP), AnyHTTPS: anyHostRules(s, l, plan.MapHTTPS),
		SlotFrontends: slotFrontends(s, l, caps), SlotMissRules: slotMissRules(l), StreamSlotFrontends: streamSlotFrontends(s, l, caps), EndServers: endServers(s, l),
		GRPCTypeRule: grpcTypeRule, AttemptsRule: attemptsRule, AttemptSections: attemptSections(s, l),
		ConditionsHTTP: conditionRules(caps, false), ConditionsHTTPS: conditionRules(caps, true),
		ResponseRules: responseRules(s, l, caps), AfterRules: slices.Concat(refusalRules(caps), keepRules(s, l), canaryResponseRules(), pageAfterRules(), rateResponseRules(), corsResponseRules()),
		ProfileOptions: ownErrorOptions(s, l, caps, true),
		NotFound:       notFoundRule(s, l),
		Redirects:      match.RedirectStatuses,
	}
	if agent != nil {
		d.HTTPOptions = append(d.HTTPOptions, agent.Filter())
		d.AfterRules, d.AgentSections = append(agent.ResponseRules(), d.AfterRules...), agent.Sections()
	}
	if f := firewallOf(s, l, caps); f != nil {
		d.HTTPOptions, d.FirewallSections = append(d.HTTPOptions, f.filter()), f.sections()
	}
	d.TLSOptions = append(d.TLSOptions, clientSessionRules(caps)...)
	if s.HTTP.AbortOnClose {
		d.ProfileOptions = append(d.ProfileOptions, "option abortonclose")
	}
	for _, p := range model.Profiles() {
		d.addProfile(p, s)
	}
	if s.SharedAddress {
		d.PolicyRules, d.TLSPolicyRules = append(d.PolicyRules, totalTimeoutRule()), append(d.TLSPolicyRules, totalTimeoutRule())
		d.SharedRules, d.SharedAnswers = []string{attemptsRule}, ownAnswerRules()
	}
	if d.Gateways = s.SharedAddress || s.HTTPSlots.Count+s.HTTPSSlots.Count+s.FallbackSlots.Count+s.TLSSlots.Count > 0; d.Gateways {
		for _, p := range model.RepeatProfiles() {
			d.addProfile(p, s)
		}
	}
	return d
}

// closesIdle reports whether an idle connection of a client is closed with
// the next answer, because a plain close could cross its next request. Where reloads
// are part of every day, this is always so. The price is that the old process, also
// at the end of a pod, stays until idle clients have left.
func closesIdle(s Settings, caps plan.Capabilities) bool {
	return !caps.DynamicBackends || s.HTTP.DeferClose
}

func (d *templateData) addProfile(p model.Profile, s Settings) {
	r := profile{Name: p.Name(), Balance: string(p.Balance), Cookie: p.Cookie, Tunnel: milliseconds(p.Tunnel), Retries: p.Retry.Attempts()}
	if p.TCP {
		if p.Tunnel == 0 {
			r.Tunnel = d.Tunnel
		}
		d.TCPProfiles = append(d.TCPProfiles, r)
		return
	}
	if p.AdjustCase && len(s.HTTP.CaseAdjustments) > 0 {
		r.Options = append(r.Options, "option h1-case-adjust-bogus-server")
	}
	if p.Balance == model.KeyHash {
		r.Balance = "hash var(txn.hash_key)"
	}
	if p.Balance == model.SourceHash || p.Balance == model.KeyHash {
		// The map-based hash refuses servers that come and go.
		r.Options = append(r.Options, "hash-type consistent")
	}
	if p.Retry.OnFailure() {
		r.Options, r.Rules = append(r.Options, retryOn), []string{retryRule}
	}
	if p.Repeat.Attempts > 0 {
		r.Retries, r.Rules = int(p.Repeat.Attempts), []string{retryRule}
		r.Options = append(r.Options, repeatOn(p.Repeat))
	}
	d.HTTPProfiles = append(d.HTTPProfiles, r)
}

// binds listens on IPv4 and, separately, on IPv6: on one socket for both, an
// IPv4 client would look like an IPv6 one to allow-lists.
func binds(s Settings, l Layout, name string, port int) []string {
	var b []string
	switch {
	case port == 0: // a frontend has to listen somewhere
		return []string{"unix@" + l.RunDir() + "/" + name + ".sock mode 600"}
	case s.Listen.IsValid():
		b = []string{netip.AddrPortFrom(s.Listen, uint16(port)).String()}
	default:
		b = []string{fmt.Sprintf("*:%d", port)}
		if s.IPv6 {
			b = append(b, fmt.Sprintf(":::%d v6only", port))
		}
	}
	if s.ProxyProtocol {
		for i := range b {
			b[i] += " accept-proxy"
		}
	}
	return b
}

// milliseconds is a time as HAProxy reads it. Its longest one is 24 days.
func milliseconds(d time.Duration) string {
	const most = 2147483647
	return strconv.FormatInt(min(max(d.Milliseconds(), 1), most), 10) + "ms"
}

// unbounded is more reloads than there ever are.
const unbounded = 1 << 30

// hotBuffers is how many buffers each thread keeps at hand.
const hotBuffers = 64

// ownConnections are those of probes and metrics, on top of those of clients.
const ownConnections = 100

// MostConnections is how many connections of clients there can be where so many files may be
// open; 0 files is no limit. A connection whose TLS ends here takes four files (client, both
// ends of the way to where TLS ends, pod). A quarter is left for listeners, health checks and
// idle connections to pods.
func MostConnections(files int) int {
	const reserved = 4 * ownConnections
	if files <= 0 {
		return math.MaxInt32
	}
	return max((files*3/4-reserved)/4, 100)
}

// processConnections is the process's limit of connections, or 0 where HAProxy is to compute
// it. HAProxy counts two files for each connection, one for each port and one for each server
// with health checks, and refuses to start if that is more than it may open. As there may be
// any number of checks, HAProxy computes the limit, from what they leave, unless connections
// take less than half of the files. A TLS connection that ends here counts twice, as it goes on
// from frontend to frontend; connectionRules bound MaxConn itself. What there is beyond that is for
// idle connections to pods (idleShare).
func processConnections(s Settings) int {
	n := (2*s.MaxConn + ownConnections) * 100 / (100 - mostIdle)
	if s.MaxConn <= 0 || s.Files > 0 && 2*n > s.Files/2 {
		return 0
	}
	return n
}

// The least and the most percent of HAProxy's files by whose use it keeps idle connections to pods.
// HAProxy's own choice is the least one: with it, a quarter of the clients whose TLS ends here, which
// take three files each while they wait, would have each request open a connection.
const leastIdle, mostIdle = 20, 40

// idleShare is up to how many percent of its files HAProxy may use and still keep idle connections to
// pods for the next requests; 0 leaves that to HAProxy. The rest is enough for as many clients as
// there may be with all that they can need, also when requests turn to other pods all at once.
func idleShare(s Settings) int {
	if s.MaxConn <= 0 {
		return 0
	}
	files := 2 * processConnections(s)
	if files == 0 {
		files = s.Files
	}
	return min(max(100-100*4*(s.MaxConn+ownConnections)/files, leastIdle), mostIdle)
}
