package firewall

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	coreruleset "github.com/corazawaf/coraza-coreruleset/v4"
	"github.com/corazawaf/coraza/v3"
	"github.com/corazawaf/coraza/v3/experimental/plugins/plugintypes"
	"github.com/corazawaf/coraza/v3/types"

	"github.com/fairlead/fairlead/router/model"
)

// Rules that look for attacks have these IDs. Those below set the rule set up, those above
// compare the score with the threshold.
const firstRule, lastRule = 911000, 948999

// directives are the configuration of the engine. The rule set's own parser of bodies is
// kept; nothing is written to a file.
const directives = `
Include @coraza.conf-recommended
SecRuleEngine On
SecRequestBodyAccess On
SecRequestBodyLimit 65536
SecRequestBodyInMemoryLimit 65536
SecRequestBodyLimitAction ProcessPartial
SecResponseBodyAccess Off
SecAuditEngine Off
SecArgumentsLimit 1000
Include @crs-setup.conf.example
Include @owasp_crs/*.conf
`

// methods are those that are no attack by themselves; that of the rule set has no PUT,
// PATCH and DELETE.
const methods = "GET HEAD POST OPTIONS PUT PATCH DELETE"

// bodyRules refuse bodies that cannot be read as what they are said to be. A body of which
// only the first part is there never can.
func bodyRules() []int { return []int{200002, 200003, 200004} }

// Rules is the compiled rule set.
type Rules struct{ waf coraza.WAF }

// Request is what is judged.
type Request struct {
	Method, Target, Version, Client string
	Headers                         []Header
	Body                            []byte
	// Partial says that the body goes on.
	Partial bool
}

// Header is one of a request.
type Header struct{ Name, Value string }

// Verdict is what rules found in a request.
type Verdict struct {
	// Attack is true if the threshold is reached.
	Attack bool
	// Rules are the IDs of those that matched.
	Rules []int
}

// transaction are the parts of Coraza's transaction that change what holds for one
// request. TestSettingsPerRequest fails if they no longer do.
type transaction interface {
	types.Transaction
	plugintypes.TransactionState
	RemoveRuleByID(id int)
}

// Compile makes the rule set, and tries it: a rule set that lets an attack through, or
// that leaves settings out, is an error.
func Compile() (*Rules, error) {
	waf, err := coraza.NewWAF(coraza.NewWAFConfig().WithRootFS(coreruleset.FS).WithDirectives(directives))
	if err != nil {
		return nil, fmt.Errorf("compile the core rule set: %w", err)
	}
	r := &Rules{waf}
	return r, r.try()
}

func (r *Rules) try() error {
	usual := model.FirewallRules{Block: true, Paranoia: 1, Threshold: 5}
	lenient := model.FirewallRules{Block: true, Paranoia: 1, Threshold: 1000}
	without := model.FirewallRules{Block: true, Paranoia: 1, Threshold: 5, Without: []int{942100}}
	for _, t := range []struct {
		target string
		rules  model.FirewallRules
		attack bool
	}{
		{"/?q=hello", usual, false},
		{"/?id=1%27%20or%20%271%27=%271", usual, true},
		{"/?id=1%27%20or%20%271%27=%271", lenient, false},
		{"/?id=1%27%20or%20%271%27=%271", without, false},
	} {
		q := Request{Method: "GET", Target: t.target, Version: "1.1", Client: "192.0.2.1", Headers: []Header{
			{"Host", "a.test"}, {"User-Agent", "try"}, {"Accept", "*/*"},
		}}
		v, err := r.Judge(&q, t.rules)
		if err != nil {
			return err
		}
		if v.Attack != t.attack {
			return fmt.Errorf("the core rule set does not judge as it should: %s with threshold %d: %v", t.target, t.rules.Threshold, v)
		}
	}
	return nil
}

// Judge applies the rules to a request.
func (r *Rules) Judge(q *Request, by model.FirewallRules) (v Verdict, err error) {
	tx, ok := r.waf.NewTransaction().(transaction)
	if !ok {
		return v, errors.New("the engine has no settings for one request")
	}
	defer func() { err = errors.Join(err, tx.Close()) }()
	set := func(name, value string) { tx.Variables().TX().Set(name, []string{value}) }
	for _, name := range []string{"blocking_paranoia_level", "detection_paranoia_level"} {
		set(name, strconv.Itoa(by.Paranoia))
	}
	set("inbound_anomaly_score_threshold", strconv.Itoa(by.Threshold))
	set("allowed_methods", methods)
	for _, id := range by.Without {
		tx.RemoveRuleByID(id)
	}
	if q.Partial {
		for _, id := range bodyRules() {
			tx.RemoveRuleByID(id)
		}
	}
	refused, err := judge(tx, q)
	if err != nil {
		return v, fmt.Errorf("judge a request: %w", err)
	}
	v.Attack = refused
	for _, m := range tx.MatchedRules() {
		id := m.Rule().ID()
		if m.Message() != "" && (id >= firstRule && id <= lastRule || id < 900000) {
			v.Rules = append(v.Rules, id)
		}
	}
	return v, nil
}

// judge runs the two phases of a request. It reports whether a rule refuses it.
func judge(tx transaction, q *Request) (bool, error) {
	tx.ProcessConnection(q.Client, 0, "", 0)
	tx.ProcessURI(q.Target, q.Method, "HTTP/"+q.Version)
	for _, h := range q.Headers {
		tx.AddRequestHeader(h.Name, h.Value)
		if strings.EqualFold(h.Name, "host") {
			tx.SetServerName(h.Value)
		}
	}
	if tx.ProcessRequestHeaders() != nil {
		return true, nil
	}
	if len(q.Body) > 0 {
		refused, _, err := tx.WriteRequestBody(q.Body)
		if refused != nil || err != nil {
			return refused != nil, err
		}
	}
	refused, err := tx.ProcessRequestBody()
	return refused != nil, err
}
