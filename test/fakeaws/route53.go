package fakeaws

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

type record struct {
	Name, Type string
	TTL        int64
	Values     []string
	AliasZone  string
	AliasName  string
}

type zone struct {
	ID, Name string
	Private  bool
	Tags     tags
	Records  []record
}

// AddZone adds a hosted zone; the name ends with a dot.
func (c *Cloud) AddZone(id, name string, private bool, with map[string]string) {
	c.change(func(s *state) { s.Zones[id] = &zone{ID: id, Name: name, Private: private, Tags: with} })
}

// Record is a record set of a zone.
type Record struct {
	Name, Type string
	TTL        int64
	Values     []string
	// AliasZone and AliasName are set for alias records.
	AliasZone, AliasName string
}

// Records returns the records of a zone, by name and type.
func (c *Cloud) Records(zoneID string) []Record {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []Record
	if z := c.state.Zones[zoneID]; z != nil {
		for _, r := range z.Records {
			list = append(list, Record(r))
		}
	}
	return list
}

// PutRecord writes a record as somebody else would.
func (c *Cloud) PutRecord(zoneID string, r Record) {
	c.change(func(s *state) { s.Zones[zoneID].put(record(r)) })
}

func route53Operations() map[string]operation {
	return map[string]operation{
		"ChangeResourceRecordSets": changeRecords,
		"ListResourceRecordSets":   listRecords,
		"ListHostedZones":          listZones,
		"ListHostedZonesByName":    listZones,
		"GetHostedZone":            getZone,
		"GetChange":                getChange,
		"ListTagsForResource":      tagsForResource,
		"ListTagsForResources":     tagsForResources,
	}
}

// route53Action finds out the action from method and path.
func route53Action(r *http.Request) string {
	parts := strings.Split(strings.Trim(strings.TrimPrefix(r.URL.Path, "/2013-04-01"), "/"), "/")
	switch {
	case len(parts) == 3 && parts[0] == "hostedzone" && parts[2] == "rrset" && r.Method == http.MethodPost:
		return "ChangeResourceRecordSets"
	case len(parts) == 3 && parts[0] == "hostedzone" && parts[2] == "rrset":
		return "ListResourceRecordSets"
	case len(parts) == 1 && parts[0] == "hostedzone":
		return "ListHostedZones"
	case len(parts) == 1 && parts[0] == "hostedzonesbyname":
		return "ListHostedZonesByName"
	case len(parts) == 2 && parts[0] == "hostedzone":
		return "GetHostedZone"
	case len(parts) == 2 && parts[0] == "change":
		return "GetChange"
	case len(parts) == 2 && parts[0] == "tags" && r.Method == http.MethodPost:
		return "ListTagsForResources"
	case len(parts) == 3 && parts[0] == "tags":
		return "ListTagsForResource"
	}
	return r.Method + " " + r.URL.Path
}

// part returns the nth part of the path behind the version.
func (r *request) part(n int) string {
	parts := strings.Split(strings.Trim(strings.TrimPrefix(r.http.URL.Path, "/2013-04-01"), "/"), "/")
	if n >= len(parts) {
		return ""
	}
	return parts[n]
}

func (r *request) zone() (*zone, error) {
	z := r.state.Zones[r.part(1)]
	if z == nil {
		return nil, &apiError{http.StatusNotFound, "NoSuchHostedZone", "No hosted zone found with ID: " + r.part(1)}
	}
	return z, nil
}

type recordXML struct {
	Name   string
	Type   string
	TTL    int64    `xml:",omitempty"`
	Values []string `xml:"ResourceRecords>ResourceRecord>Value,omitempty"`
	Alias  *struct {
		HostedZoneId         string
		DNSName              string
		EvaluateTargetHealth bool
	} `xml:"AliasTarget,omitempty"`
}

func (x recordXML) record() record {
	r := record{Name: absolute(x.Name), Type: x.Type, TTL: x.TTL, Values: x.Values}
	if x.Alias != nil {
		r.AliasZone, r.AliasName = x.Alias.HostedZoneId, absolute(x.Alias.DNSName)
	}
	return r
}

func absolute(name string) string {
	name = strings.ToLower(strings.ReplaceAll(name, `\052`, "*"))
	return strings.TrimSuffix(name, ".") + "."
}

func (z *zone) find(name, kind string) int {
	return slices.IndexFunc(z.Records, func(r record) bool { return r.Name == name && r.Type == kind })
}

func (z *zone) put(r record) {
	if i := z.find(r.Name, r.Type); i >= 0 {
		z.Records[i] = r
		return
	}
	z.Records = append(z.Records, r)
	slices.SortFunc(z.Records, func(a, b record) int { return strings.Compare(a.Name+" "+a.Type, b.Name+" "+b.Type) })
}

func equalRecords(a, b record) bool {
	slices.Sort(a.Values)
	slices.Sort(b.Values)
	return a.TTL == b.TTL && slices.Equal(a.Values, b.Values) && a.AliasZone == b.AliasZone && a.AliasName == b.AliasName
}

func badBatch(format string, args ...any) error {
	return refuse("InvalidChangeBatch", format, args...)
}

// changeRecords carries all changes out, or none.
func changeRecords(r *request) (any, error) {
	z, err := r.zone()
	if err != nil {
		return nil, err
	}
	var in struct {
		Changes []struct {
			Action string
			Set    recordXML `xml:"ResourceRecordSet"`
		} `xml:"ChangeBatch>Changes>Change"`
	}
	if err := xml.Unmarshal(r.body, &in); err != nil || len(in.Changes) == 0 {
		return nil, refuse("InvalidInput", "the change batch cannot be read: %v", err)
	}
	fresh := &zone{Records: slices.Clone(z.Records)}
	for _, c := range in.Changes {
		if err := r.apply(fresh, z.Name, c.Action, c.Set.record()); err != nil {
			return nil, err
		}
	}
	z.Records = fresh.Records
	r.state.Number++
	id := fmt.Sprintf("C%013d", r.state.Number)
	r.state.Changes[id] = r.now
	return changeInfo(id, "PENDING", r.now), nil
}

// leads reports whether an alias leads to a load balancer that is there.
func (s *state) leads(n record) bool {
	for _, b := range s.Balancers {
		own := HostedZone
		if b.Type == "application" {
			own = hostedZoneALB
		}
		if absolute(b.DNSName) == strings.TrimPrefix(n.AliasName, "dualstack.") && own == n.AliasZone {
			return true
		}
	}
	return false
}

func (r *request) apply(z *zone, origin, action string, n record) error {
	if n.Name != origin && !strings.HasSuffix(n.Name, "."+origin) {
		return badBatch("RRSet with DNS name %s is not permitted in zone %s", n.Name, origin)
	}
	if n.AliasZone != "" && action != "DELETE" {
		if !r.state.leads(n) {
			return badBatch("Tried to create an alias that targets %s, type %s in zone %s, but the alias target name does not lie within the target zone", n.AliasName, n.Type, n.AliasZone)
		}
	}
	at := z.find(n.Name, n.Type)
	switch action {
	case "DELETE":
		switch {
		case at < 0:
			return badBatch("Tried to delete resource record set [name='%s', type='%s'] but it was not found", n.Name, n.Type)
		case !equalRecords(z.Records[at], n):
			return badBatch("Tried to delete resource record set [name='%s', type='%s'] but the values provided do not match the current values", n.Name, n.Type)
		}
		z.Records = slices.Delete(z.Records, at, at+1)
		return nil
	case "CREATE":
		if at >= 0 {
			return badBatch("Tried to create resource record set [name='%s', type='%s'] but it already exists", n.Name, n.Type)
		}
	case "UPSERT":
	default:
		return refuse("InvalidInput", "action %s", action)
	}
	for _, o := range z.Records {
		if o.Name == n.Name && o.Type != n.Type && (o.Type == "CNAME" || n.Type == "CNAME") {
			return badBatch("RRSet of type %s with DNS name %s is not permitted because a conflicting RRSet of type %s exists", n.Type, n.Name, o.Type)
		}
	}
	if n.Type == "CNAME" && n.Name == origin {
		return badBatch("RRSet of type CNAME with DNS name %s is not permitted at apex in zone %s", n.Name, origin)
	}
	z.put(n)
	return nil
}

type changeXML struct {
	Info struct{ Id, Status, SubmittedAt string } `xml:"ChangeInfo"`
}

func changeInfo(id, status string, at time.Time) changeXML {
	var out changeXML
	out.Info.Id, out.Info.Status, out.Info.SubmittedAt = "/change/"+id, status, at.UTC().Format(time.RFC3339)
	return out
}

func getChange(r *request) (any, error) {
	at, ok := r.state.Changes[r.part(1)]
	if !ok {
		return nil, &apiError{http.StatusNotFound, "NoSuchChange", "no change " + r.part(1)}
	}
	status := "INSYNC"
	if r.now.Sub(at) < r.cloud.options.Delays.Sync {
		status = "PENDING"
	}
	return changeInfo(r.part(1), status, at), nil
}

type recordOut struct {
	Name   string
	Type   string
	TTL    int64      `xml:",omitempty"`
	Values *valuesXML `xml:"ResourceRecords,omitempty"`
	Alias  *aliasOut  `xml:"AliasTarget,omitempty"`
}

type valuesXML struct {
	List []valueXML `xml:"ResourceRecord"`
}

type valueXML struct{ Value string }

type aliasOut struct {
	HostedZoneId, DNSName string
	EvaluateTargetHealth  bool
}

// listRecords begins at a name and type, and writes * as AWS does.
func listRecords(r *request) (any, error) {
	z, err := r.zone()
	if err != nil {
		return nil, err
	}
	q := r.http.URL.Query()
	most, err := strconv.Atoi(q.Get("maxitems"))
	if err != nil {
		most = 300
	}
	out := struct {
		Sets           []recordOut `xml:"ResourceRecordSets>ResourceRecordSet"`
		IsTruncated    bool
		NextRecordName string `xml:",omitempty"`
		NextRecordType string `xml:",omitempty"`
		MaxItems       int
	}{MaxItems: most}
	for _, rec := range z.Records {
		if from := q.Get("name"); from != "" && rec.Name+" "+rec.Type < absolute(from)+" "+q.Get("type") {
			continue
		}
		if len(out.Sets) == most {
			out.IsTruncated, out.NextRecordName, out.NextRecordType = true, rec.Name, rec.Type
			break
		}
		x := recordOut{Name: strings.Replace(rec.Name, "*", `\052`, 1), Type: rec.Type, TTL: rec.TTL}
		if rec.AliasZone != "" {
			x.Alias = &aliasOut{HostedZoneId: rec.AliasZone, DNSName: rec.AliasName}
		} else {
			x.Values = &valuesXML{}
			for _, v := range rec.Values {
				x.Values.List = append(x.Values.List, valueXML{v})
			}
		}
		out.Sets = append(out.Sets, x)
	}
	return out, nil
}

type zoneOut struct {
	Id, Name, CallerReference string
	Config                    struct{ PrivateZone bool }
}

func describeZone(z *zone) zoneOut {
	out := zoneOut{Id: "/hostedzone/" + z.ID, Name: z.Name, CallerReference: z.ID}
	out.Config.PrivateZone = z.Private
	return out
}

func listZones(r *request) (any, error) {
	var out struct {
		HostedZones []zoneOut `xml:"HostedZones>HostedZone"`
		IsTruncated bool
		MaxItems    int
	}
	out.MaxItems = 100
	for _, z := range sortedValues(r.state.Zones) {
		if from := r.http.URL.Query().Get("dnsname"); from != "" && r.action == "ListHostedZonesByName" && z.Name < absolute(from) {
			continue
		}
		out.HostedZones = append(out.HostedZones, describeZone(z))
	}
	return out, nil
}

func getZone(r *request) (any, error) {
	z, err := r.zone()
	if err != nil {
		return nil, err
	}
	return struct{ HostedZone zoneOut }{describeZone(z)}, nil
}
