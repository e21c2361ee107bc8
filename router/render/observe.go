package render

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/fairlead/fairlead/router/plan"
)

// HAProxy writes a record of each observed request or connection into a ring in its memory.
// A request is observed if its routing value, the backend's name, begins with a key of a map
// that is empty while there is no reader. So a request costs one look at an empty tree then,
// and no line is made of it: its level is "silent". Readers turn it on for a Route, a
// namespace or all by a few keys, without a reload and without any record of a policy.

// Ring is HAProxy's name of the ring.
const Ring = "observe"

const (
	// ringBytes is what the ring can hold: two seconds at 1,000 requests a second, for which
	// a reader may stand still.
	ringBytes = 1 << 20
	// recordBytes bounds a record: a host and a path whose bytes are all escaped fit.
	recordBytes = 6144
	// pathBytes and nameBytes are what a record has of a path, and of a host or server name.
	pathBytes, nameBytes = 1024, 253
	// observedLevel is the level of observed requests, and the least important one that the
	// ring takes: HAProxy gives all others "info".
	observedLevel = "notice"
)

// SampleKey is the key of that map with which shares of all requests are observed, where the settings name a share. No routing
// value begins with it.
const SampleKey = "sample"

// ObserveFile is HAProxy's name of the map whose keys begin the names of what is observed.
// The file is empty, so a process starts without.
func (l Layout) ObserveFile() string { return filepath.Join(l.Dir, "observe.map") }

// Observes reports whether requests can be observed. Before HAProxy 3.1 a frontend has one
// format for all of its logs, which is the access log's where there is one.
func Observes(s Settings, caps plan.Capabilities) bool {
	return caps.LogProfiles || s.Log.Target == ""
}

// AnsweredBy has the group of policies that answered a request in place of its pods, at the end of
// it (templates/refusals.lua). Formats of access logs name it.
const AnsweredBy = "var(txn.answered_by)"

// requestRecord and connectionRecord are what package observe parses: fields with a bar
// between them, which HAProxy escapes where clients write the text. There is no query, no
// cookie, and no header but the trace among them.
var (
	requestRecord = recordFormat("h", "var(txn.backend),field(1,|)",
		"%s", "%ST", "%tsc", "%rc", "%Th/%Ti/%TR/%Tw/%Tc/%Tr/%Td/%Ta", "%U", "%B", "%ci", uniqueID, "%[method,url_enc]", "%[fc_http_major]", "%sslv",
		written("ssl_fc_sni", nameBytes), written("var(txn.host)", nameBytes), "%[var(txn.path),length]", written("var(txn.path)", pathBytes),
		"%[var(txn.traceparent)]", "%[var(txn.trace_from),bytes(36,16)]", "%["+AnsweredBy+"]")
	connectionRecord = recordFormat("t", "var(sess.backend),field(1,|)",
		"%s", "0", "%ts", "%rc", "-1/-1/-1/%Tw/%Tc/-1/-1/%Tt", "%U", "%B", "%ci", "", "", "0", "",
		written("var(sess.server_name)", nameBytes), written("var(sess.name)", nameBytes), "0", "", "", "", "")
)

// uniqueID is the ID of spec.httpHeaders.uniqueId.
const uniqueID = "%[unique-id,url_enc]"

// recordFormat is a format: its kind, the time in microseconds, the routing value, and the rest.
func recordFormat(kind, value string, fields ...string) string {
	return strings.Join(append([]string{kind, "%[date(0,us)]", "%[" + value + "]"}, fields...), "|")
}

// written is a text of the client, cut and escaped.
func written(text string, most int) string {
	return fmt.Sprintf("%%[%s,bytes(0,%d),url_enc]", text, most)
}

// observeSections are the ring, and the formats of its records where they can be the ring's
// alone.
func observeSections(s Settings, caps plan.Capabilities) []string {
	if !Observes(s, caps) {
		return nil
	}
	lines := []string{"ring " + Ring, "  format raw", fmt.Sprintf("  maxlen %d", recordBytes), fmt.Sprintf("  size %d", ringBytes)}
	if caps.LogProfiles {
		lines = append(lines, "", "log-profile "+Ring+"_requests", `  on any format "`+requestFormat(s)+`"`, "", "log-profile "+Ring+"_connections", `  on any format "`+connectionRecord+`"`)
	}
	return lines
}

// observeOptions make a frontend write records: of requests, or of connections. Without an
// access log the format of the frontend itself has nothing that HAProxy would have to keep of
// each request for it.
func observeOptions(s Settings, caps plan.Capabilities, of, format string) []string {
	if !Observes(s, caps) {
		return nil
	}
	profile := ""
	if caps.LogProfiles {
		profile, format = " profile "+Ring+"_"+of, "%B"
	}
	lines := []string{fmt.Sprintf("log ring@%s len %d%s local0 %s", Ring, recordBytes, profile, observedLevel)}
	if s.Log.Target == "" {
		lines = append(lines, `log-format "`+format+`"`)
	}
	return lines
}

// requestFormat says at the end of records which requests are of the share that is sampled. The ID is the one that answers have,
// where some have one.
func requestFormat(s Settings) string {
	record := requestRecord
	if s.KeepFailed {
		record = strings.Replace(record, "|"+uniqueID+"|", "|"+written("var(txn.request_id)", IDBytes)+"|", 1)
	}
	if s.Sample == 0 {
		return record
	}
	return record + "|%[var(txn.sampled)]"
}

func observeRequestOptions(s Settings, caps plan.Capabilities) []string {
	return observeOptions(s, caps, "requests", requestFormat(s))
}

func observeConnectionOptions(s Settings, caps plan.Capabilities) []string {
	return observeOptions(s, caps, "connections", connectionRecord)
}

// silentRules begin the rules of a kind: without an access log nothing is written unless it
// is observed.
func silentRules(s Settings, kind string) []string {
	if s.Log.Target != "" {
		return nil
	}
	return []string{kind + " set-log-level silent"}
}

// observeRules follow the look-up of a request, before all that may refuse it. Rules that
// keep requests of a Route out of the access log come later, and keep them out of the ring.
func observeRules(s Settings, l Layout, caps plan.Capabilities) []string {
	if !Observes(s, caps) {
		return nil
	}
	rules := []string{fmt.Sprintf("http-request set-log-level %s if { var(txn.backend),map_beg(%s) -m found }", observedLevel, l.ObserveFile())}
	if s.Sample == 0 {
		return rules
	}
	// The number comes first: most requests are done with it.
	chosen := ""
	if s.Sample > 1 {
		chosen = fmt.Sprintf("{ rand(%d) eq 0 } ", s.Sample)
	}
	return append(rules,
		fmt.Sprintf("http-request set-var(txn.sampled) int(1) if %s{ str(%s),map_beg(%s) -m found }", chosen, SampleKey, l.ObserveFile()),
		"http-request set-log-level "+observedLevel+" if { var(txn.sampled) -m found }")
}

// observeConnectionRules are the same for connections that are handed on whole. The other
// ones of such a frontend are observed request by request, where their TLS ends.
func observeConnectionRules(s Settings, l Layout, caps plan.Capabilities) []string {
	if !Observes(s, caps) {
		return nil
	}
	return []string{fmt.Sprintf("tcp-request content set-log-level %s if { var(sess.backend) -m beg be_ } { var(sess.backend),map_beg(%s) -m found }", observedLevel, l.ObserveFile())}
}
