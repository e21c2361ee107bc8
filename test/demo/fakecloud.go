package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// ask asks the fake what no API of AWS tells.
func (d *demo) ask(ctx context.Context, what string) (string, error) {
	return d.cluster.Exec(ctx, "client", "curl", "-sSf", "-m", "5", "http://"+d.cluster.Address(cloudHost)+":4566/"+what)
}

// cloudState is what the fake AWS has.
type cloudState struct {
	Addresses map[string]string
	Balancers []struct {
		Name, DNSName string
		Listeners     []struct {
			Port  int
			Group struct{ Targets []string }
		}
	}
	Groups         []struct{ Name string }
	SecurityGroups []struct {
		Name  string
		Rules []string
	}
	Records []struct{ Name, Type, AliasName string }
}

func (d *demo) cloudState(ctx context.Context) (cloudState, error) {
	var s cloudState
	out, err := d.ask(ctx, "balancers")
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		return s, fmt.Errorf("read what the fake has: %w", err)
	}
	return s, nil
}

// orphans are the objects that only our load balancers need. The group "nodes" is
// the machines', and only rules in it would be ours.
func (s cloudState) orphans() []string {
	var list []string
	for _, b := range s.Balancers {
		list = append(list, "load balancer "+b.Name)
	}
	for _, g := range s.Groups {
		list = append(list, "target group "+g.Name)
	}
	for _, g := range s.SecurityGroups {
		if g.Name != "nodes" || len(g.Rules) > 0 {
			list = append(list, fmt.Sprintf("security group %s %v", g.Name, g.Rules))
		}
	}
	for _, r := range s.Records {
		list = append(list, "record "+r.Name+" "+r.Type)
	}
	return list
}

// changesOf are the calls of a journal that change something in the load balancers.
func changesOf(journal string) []string {
	var list []string
	for line := range strings.Lines(journal) {
		_, action, _ := strings.Cut(strings.TrimSpace(line), ":")
		if !strings.HasPrefix(action, "Describe") && !strings.HasPrefix(action, "List") && !strings.HasPrefix(action, "Get") && !strings.HasPrefix(action, "ChangeResource") {
			list = append(list, action)
		}
	}
	return list
}
