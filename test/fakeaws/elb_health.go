package fakeaws

import "strconv"

type healthXML struct {
	Target struct {
		Id               string
		Port             int
		AvailabilityZone string `xml:",omitempty"`
	}
	HealthCheckPort string
	TargetHealth    struct {
		State       string
		Reason      string `xml:",omitempty"`
		Description string `xml:",omitempty"`
	}
}

func describeTargetHealth(r *request) (any, error) {
	g, err := r.group()
	if err != nil {
		return nil, err
	}
	g.settle(r.now, r.cloud.options.Delays.Drain)
	var out struct {
		TargetHealthDescriptions []healthXML `xml:"TargetHealthDescriptions>member"`
	}
	used := len(r.state.usersOf(g.ARN)) > 0
	for _, t := range g.Targets {
		var x healthXML
		x.Target.Id, x.Target.Port, x.Target.AvailabilityZone = t.ID, t.Port, t.Zone
		x.HealthCheckPort = g.Check.Port
		if g.Check.Port == "traffic-port" {
			x.HealthCheckPort = strconv.Itoa(t.Port)
		}
		x.TargetHealth.State, x.TargetHealth.Reason = r.health(g, t, used)
		out.TargetHealthDescriptions = append(out.TargetHealthDescriptions, x)
	}
	return out, nil
}

func (r *request) health(g *targetGroup, t target, used bool) (state, reason string) {
	healthy, told := r.cloud.health[healthKey(t.ID, t.Port)]
	switch {
	case !t.Draining.IsZero():
		return "draining", "Target.DeregistrationInProgress"
	case !used:
		return "unused", "Target.NotInUse"
	case r.now.Before(t.Registered.Add(r.cloud.options.Delays.Initial)):
		return "initial", "Elb.InitialHealthChecking"
	case g.Type == "instance" && (r.state.Instances[t.ID] == nil || r.state.Instances[t.ID].State != "running"):
		return "unused", "Target.InvalidState"
	case told && !healthy:
		return "unhealthy", "Target.FailedHealthChecks"
	}
	return "healthy", ""
}

func healthKey(id string, port int) string { return id + ":" + strconv.Itoa(port) }

// SetHealth says what the health checks of a target find. Without it, a target
// is healthy.
func (c *Cloud) SetHealth(id string, port int, healthy bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.health[healthKey(id, port)] = healthy
}
