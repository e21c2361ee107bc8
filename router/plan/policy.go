package plan

import (
	"cmp"
	"encoding/base64"
	"net/netip"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// isPolicy tells the maps that hold what backends ask for from those that lead
// requests to them.
func (m Map) isPolicy() bool {
	switch m {
	case MapPolicy, MapAllow, MapDeny, MapExempt, MapSubjects, MapKeys, MapRedirects, MapCORS, MapRequestHeaders, MapResponseHeaders, MapPages, MapPageTexts:
		return true
	case MapHTTP, MapHTTPS, MapSNI, MapListeners, MapSuffixes:
	}
	return false
}

// Routes tells the maps whose values are backends.
func (m Map) Routes() bool { return !m.isPolicy() && m != MapListeners && m != MapSuffixes }

// Target is the value of a routing key: the name of a backend and, for HTTP or where there are
// shares, what its policy has the frontend do. So one look-up tells both, and a request never
// meets the policy of before with the backend of now.
// If guarded is true, the record also says that the path is to be looked up
// normalised.
func Target(b *model.Backend, guarded bool) string {
	record := b.Record()
	switch {
	case b.Profile.TCP && b.Policy().Canary == nil:
		return b.Name()
	case guarded && !b.Profile.TCP:
		record = guardedRecord(record)
	case record == "":
		return b.Name()
	}
	return b.Name() + "|" + record
}

// guardedRecord puts the flag behind the first letter of a record, and makes one that begins
// with a mode of that which says no more than a cookie or tracing.
func guardedRecord(record string) string {
	if record == "" || record[0] == '|' || record[:1] == model.FlagTraced {
		return model.ModeAppend + model.FlagGuarded + record
	}
	return record[:1] + model.FlagGuarded + record[1:]
}

// TargetBackends returns the names of all backends that a routing key may lead to, and
// words that stand in the place of one.
func TargetBackends(value string) []string {
	names := match.Values(value)
	for i := range names {
		names[i] = TargetBackend(names[i])
	}
	return names
}

// TargetBackend returns the name of the backend that a routing key leads to, or
// the word that stands in its place ("!302").
func TargetBackend(value string) string {
	name, _, _ := strings.Cut(value, "|")
	return name
}

// Policy returns the backend whose policy an entry is of, if it is one's.
func (e Entry) Policy() (backend string, ok bool) {
	if !e.Map.isPolicy() {
		return "", false
	}
	return e.policyBackend(), true
}

// policyBackend returns the backend that a key of a policy map belongs to.
func (e Entry) policyBackend() string {
	name, _, _ := strings.Cut(e.Key, "/")
	return name
}

// PolicyEntries returns what the maps hold for a backend.
func PolicyEntries(b *model.Backend) map[Entry]string {
	name, p := b.Name(), b.Policy()
	entries := map[Entry]string{}
	if record := b.Record(); b.Profile.TCP && record != "" {
		entries[Entry{MapPolicy, name}] = record
	}
	addressEntries(entries, name, p)
	if k := p.APIKeys; k != nil {
		for hash, consumer := range k.Consumers {
			entries[Entry{MapKeys, name + "/" + hash}] = consumerEntry(k, consumer)
		}
	}
	if p.Certificate != nil {
		subjectEntries(entries, name, p.Certificate)
	}
	for key, value := range match.RedirectTable(name, p.Redirects) {
		entries[Entry{MapRedirects, key}] = value
	}
	if p.CORS != nil {
		for _, origin := range p.CORS.Origins {
			entries[Entry{MapCORS, name + "/" + origin}] = p.CORS.OriginRecord(origin)
		}
		for _, domain := range p.CORS.Domains {
			entries[Entry{MapCORS, name + "/" + model.DomainsKey}] = "1"
			entries[Entry{MapCORS, name + "/" + model.DomainKey(domain)}] = p.CORS.OriginRecord(domain)
		}
	}
	for key, use := range p.Pages.Keys() {
		entries[Entry{MapPages, name + "/" + key}] = use.Word()
	}
	if len(p.RequestHeaders) > 0 {
		entries[Entry{MapRequestHeaders, name}] = encodeHeaders(withoutLookalikes(p.RequestHeaders))
	}
	branchEntries(entries, name, p)
	if p.ChangesAnswers() {
		entries[Entry{MapResponseHeaders, name}] = encodeAnswer(p)
	}
	return entries
}

// branchEntries adds what is done to requests by the backend that they go to: headers, and
// behind them the host and path that its pods get.
func branchEntries(entries map[Entry]string, name string, p *model.Policy) {
	entry := func(branch string) Entry { return Entry{MapRequestHeaders, name + "/" + cmp.Or(branch, name)} }
	for branch, actions := range p.BranchHeaders {
		entries[entry(branch)] = encodeHeaders(withoutLookalikes(actions))
	}
	for branch, r := range p.BranchRewrites {
		lists := cmp.Or(entries[entry(branch)], encodeHeaders(nil))
		dots := strings.Repeat(".", rewriteField-1-strings.Count(lists, "."))
		entries[entry(branch)] = lists + dots + base64.StdEncoding.EncodeToString([]byte(r.Record()))
	}
}

// rewriteField is the field, between dots, of what a branch does to host and path.
const rewriteField = 4

// subjectEntries adds what the subjects and other names of client certificates must be.
func subjectEntries(entries map[Entry]string, name string, c *model.ClientCertificate) {
	for _, subject := range c.Subjects {
		if !subject.Expression {
			entries[Entry{MapSubjects, name + "/" + subject.Key()}] = "1"
		}
	}
	if list := c.PatternList(); list != "" {
		entries[Entry{MapSubjects, name + "/" + model.PatternKey}] = list
	}
	if len(c.SANs) > 0 {
		entries[Entry{MapSubjects, name + "/" + model.SANKey}] = c.SANList()
	}
}

// addressEntries adds the lists of addresses.
func addressEntries(entries map[Entry]string, name string, p *model.Policy) {
	lists := map[Map][]netip.Prefix{MapAllow: p.Allow, MapDeny: p.Deny}
	if p.Maintenance != nil {
		lists[MapExempt] = p.Maintenance.Exempt
	}
	for m, list := range lists {
		for _, prefix := range list {
			for _, key := range allowKeys(prefix) {
				entries[Entry{m, name + "/" + key}] = "1"
			}
		}
	}
	for key, marks := range exemptOf(p) {
		entries[Entry{MapExempt, name + "/l/" + key}] = marks
	}
}

// PageEntry is one of the entries of a page.
func PageEntry(hash string) Entry { return Entry{MapPageTexts, hash + "/1"} }

// PageEntries returns what the maps hold for a page, whatever backends show it.
func PageEntries(p *model.Page) map[Entry]string {
	first, second := p.Parts()
	return map[Entry]string{PageEntry(p.Hash): first, {MapPageTexts, p.Hash + "/2"}: second}
}

// consumerEntry is the name of a consumer, and the lists of headers that tell the pod.
func consumerEntry(k *model.APIKeys, consumer string) string {
	if k.Header == "" {
		return consumer
	}
	return consumer + "|" + encodeHeaders(withoutLookalikes([]model.HeaderAction{{Name: k.Header, Value: consumer}}))
}

// allowKeys writes a prefix as the beginnings of "<digits>/<address in
// hexadecimal>", 1 to 8 of them, because a digit holds four bits. The number
// of digits keeps IPv4 and IPv6 apart.
func allowKeys(p netip.Prefix) []string {
	p = p.Masked()
	hex := strings.ToUpper(hexDigits(p.Addr().AsSlice()))
	whole, rest := p.Bits()/4, p.Bits()%4
	family := strconv.Itoa(len(hex)) + "/"
	if rest == 0 {
		return []string{family + hex[:whole]}
	}
	first, _ := strconv.ParseUint(hex[whole:whole+1], 16, 8)
	var keys []string
	for d := range uint64(1) << (4 - rest) {
		keys = append(keys, family+hex[:whole]+strings.ToUpper(strconv.FormatUint(first+d, 16)))
	}
	return keys
}

func hexDigits(b []byte) string {
	const digits = "0123456789abcdef"
	out := make([]byte, 0, 2*len(b))
	for _, c := range b {
		out = append(out, digits[c>>4], digits[c&15])
	}
	return string(out)
}

// encodeHeaders writes header actions for HAProxy's rules: lists of what to set,
// what to delete and, if there is any, what to add, in base64 with dots between them.
// If a value takes more than copying, there is a tilde and all actions as
// templates/headers.lua reads them: fields parted by 0x1f, actions by 0x1e.
func encodeHeaders(actions []model.HeaderAction) string {
	text := base64.StdEncoding.EncodeToString
	var set, remove, add []byte
	for _, a := range actions {
		fixed := strings.ReplaceAll(a.Value, "%%", "%")
		switch {
		case a.Delete:
			remove = appendText(remove, a.Name)
		case a.Add:
			add = appendText(appendText(add, a.Name), fixed)
		default:
			set = appendText(appendText(set, a.Name), fixed)
		}
	}
	if !model.FixedHeaders(actions) {
		return "~" + text(headerScript(actions)) + "." + text(append(remove, 0))
	}
	lists := text(append(set, 0, 0)) + "." + text(append(remove, 0))
	if len(add) > 0 {
		lists += "." + text(append(add, 0, 0))
	}
	return lists
}

// encodeAnswer writes what becomes of answers of pods: first cookies and redirects, which
// only Lua changes, then headers.
func encodeAnswer(p *model.Policy) string {
	var items []string
	if c := p.Cookies; c != nil {
		secure := ""
		if c.Secure {
			secure = "1"
		}
		items = append(items, strings.Join([]string{"C", c.PathFrom, c.PathTo, c.DomainFrom, c.DomainTo, secure, c.SameSite}, "\x1f"))
	}
	if l := p.Location; l != nil {
		items = append(items, "L\x1f"+l.From+"\x1f"+l.To)
	}
	if len(items) == 0 {
		return encodeHeaders(p.ResponseHeaders)
	}
	if len(p.ResponseHeaders) > 0 {
		items = append(items, string(headerScript(p.ResponseHeaders)))
	}
	text := base64.StdEncoding.EncodeToString
	return "~" + text([]byte(strings.Join(items, "\x1e"))) + "." + text([]byte{0})
}

func headerScript(actions []model.HeaderAction) []byte {
	var items []string
	for _, a := range actions {
		if a.Delete {
			items = append(items, "D\x1f"+a.Name)
			continue
		}
		what := "S"
		if a.Add {
			what = "A"
		}
		items = append(items, what+"\x1f"+a.Name+"\x1f"+strings.Join(valueParts(a.Value), "\x1f"))
	}
	return []byte(strings.Join(items, "\x1e"))
}

// appendText appends a text after its length, as HAProxy 3.4's set-headers-bin
// and del-headers-bin read lists, which end with empty texts (HAProxy's
// doc/SPOE.txt, "variable length integer").
func appendText(to []byte, text string) []byte {
	n := len(text)
	if n < 240 {
		return append(append(to, byte(n)), text...)
	}
	to = append(to, byte(n)|240)
	for n = (n - 240) >> 4; n >= 128; n = (n - 128) >> 7 {
		to = append(to, byte(n)|128)
	}
	return append(append(to, byte(n)), text...)
}

// valueParts splits a header value into literals ("L…") and fetches
// ("F<fetch>,<converter>,…"; "E…" where the result is to be escaped). Ingest
// has checked the grammar.
func valueParts(v string) []string {
	var parts []string
	literal := func(s string) {
		if s == "" {
			return
		}
		if n := len(parts); n > 0 && parts[n-1][0] == 'L' {
			parts[n-1] += s
			return
		}
		parts = append(parts, "L"+s)
	}
	for v != "" {
		before, after, found := strings.Cut(v, "%")
		literal(before)
		if !found {
			break
		}
		if rest, ok := strings.CutPrefix(after, "%"); ok {
			literal("%")
			v = rest
			continue
		}
		flags, fetch, _ := strings.Cut(after, "[")
		fetch, rest, _ := strings.Cut(fetch, "]")
		kind := "F"
		if escapes(flags) {
			kind = "E"
		}
		parts = append(parts, kind+fetch)
		v = rest
	}
	return parts
}

// escapes reads flags such as "{+Q,-E}". Of the three of HAProxy's log format,
// Q and X do nothing to a fetch (HAProxy 3.0 to 3.4); the last E counts.
func escapes(flags string) bool {
	return strings.LastIndex(flags, "+E") > strings.LastIndex(flags, "-E")
}
