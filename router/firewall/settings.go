package firewall

import (
	"errors"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/router/model"
)

// Bounds of what a question may ask for. They are wider than those of policies.
const (
	mostSettings = 16
	mostWithout  = 64
)

var errSettings = errors.New("not settings of a firewall")

// Parse reads what model.Policy.Record writes: BODY:OVER:SETTINGS+….
func Parse(text string) ([]model.FirewallRules, error) {
	parts := strings.SplitN(text, ":", 3)
	if len(parts) != 3 {
		return nil, errSettings
	}
	items := strings.Split(parts[2], "+")
	if len(items) > mostSettings {
		return nil, errSettings
	}
	out := make([]model.FirewallRules, 0, len(items))
	for _, item := range items {
		r, err := parseRules(item)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// parseRules reads MODE.PARANOIA.THRESHOLD[.ID,ID…].
func parseRules(text string) (r model.FirewallRules, err error) {
	parts := strings.Split(text, ".")
	if len(parts) < 3 || len(parts) > 4 || parts[0] != "B" && parts[0] != "D" {
		return r, errSettings
	}
	r.Block = parts[0] == "B"
	if r.Paranoia, err = number(parts[1], 1, 4); err != nil {
		return r, err
	}
	if r.Threshold, err = number(parts[2], 1, 1000); err != nil {
		return r, err
	}
	if len(parts) == 3 {
		return r, nil
	}
	ids := strings.Split(parts[3], ",")
	if len(ids) > mostWithout {
		return r, errSettings
	}
	for _, id := range ids {
		n, err := number(id, firstRule, lastRule)
		if err != nil {
			return r, err
		}
		r.Without = append(r.Without, n)
	}
	return r, nil
}

func number(text string, least, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most || strconv.Itoa(n) != text {
		return 0, errSettings
	}
	return n, nil
}
