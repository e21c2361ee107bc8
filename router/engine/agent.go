package engine

import (
	"context"
	"errors"
	"maps"
	"time"

	agent "github.com/fairlead/fairlead/router/agent/process"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/model"
)

// Agent is the policy agent beside HAProxy. agent.Client is the real one.
type Agent interface {
	// Send hands over an encoded snapshot and waits until the agent decides by it; Ask
	// returns what it decides by now.
	Send(ctx context.Context, whole []byte) (agent.Reply, error)
	Ask(ctx context.Context) (agent.Reply, error)
}

const (
	// agentPatience is how long records wait for the agent, which then refuses what it
	// does not know yet; firstPatience is the same at a start, before the router is ready.
	agentPatience, firstPatience = 500 * time.Millisecond, 10 * time.Second
	// agentTime bounds one attempt, agentPause is between two, and agentLook is how often
	// the agent is asked whether it still decides by what it got.
	agentTime, agentPause, agentLook = 15 * time.Second, time.Second, 2 * time.Second
	// retirement is for how long the agent keeps a policy that no record names any more:
	// requests that have read one before are still to be decided.
	retirement = 10 * time.Second
	// firstRetry is between two attempts at a start.
	firstRetry = 50 * time.Millisecond
)

// agentLink is what the engine knows of the agent.
type agentLink struct {
	// wanted are the policies of the wanted state, and retired those that were, with the
	// time until which the agent keeps them.
	wanted  map[string]*model.Agent
	retired map[string]retiredPolicy
	// around is what the snapshot has besides policies, and relays the part of it that the
	// pipeline knows.
	around snapshot.Surroundings
	relays []snapshot.Relay
	// generation is that of the snapshot to be decided by, made of kept; left are the
	// policies that have no room in it.
	generation uint64
	kept       []string
	left       map[string]string
	// decides is true while the agent is known to decide by the generation; tried is
	// true once it was told anything.
	decides, tried bool
	// running receives the end of what is under way; nil if nothing is.
	running chan agentReply
	// next is when to send or ask again.
	next      time.Time
	complaint string
	// closed are policies that the agent cannot use, with the reason.
	closed map[string]string
	// troubles are what it cannot read for policies, taken at; heard are those of its last
	// answer.
	troubles, heard snapshot.Troubles
	taken           time.Time
}

type retiredPolicy struct {
	agent *model.Agent
	until time.Time
}

// agentReply is what became of a snapshot, or of a question.
type agentReply struct {
	generation uint64
	// asked is true for the answer to a question.
	asked bool
	reply agent.Reply
	err   error
}

// tellAgent hands the agent what the next records will ask about, before HAProxy gets
// them. If the agent takes long, the records go all the same: until it knows a policy,
// it refuses what asks for it.
func (e *Engine) tellAgent() {
	a := &e.agent
	if e.o.Agent == nil {
		return
	}
	now := time.Now()
	if all, changed := e.pipeline.AgentPolicies(); changed {
		a.replace(all, now)
	}
	if relays, changed := e.pipeline.Relays(); changed {
		a.relays = relays
	}
	if around := e.surroundings(); !around.Equal(a.around) {
		// Agents that count together begin before a Route asks for it: an owner that has just
		// begun has empty buckets.
		if a.around = around; a.generation != 0 || around.Replicas != nil || len(around.Relays) > 0 {
			a.collect()
		}
	}
	if a.expire(now) {
		a.decides = false
	}
	if a.generation == 0 { // no route has ever asked for an agent
		return
	}
	if a.decides {
		if a.running == nil && !now.Before(a.next) {
			e.startAgent(false)
		}
		return
	}
	if len(a.kept) == 0 { // no request waits for it
		if a.running == nil && !now.Before(a.next) {
			e.startAgent(true)
		}
		return
	}
	first := !a.tried
	a.tried = true
	switch {
	case first:
		e.awaitAgent(firstPatience, true)
	case a.complaint == "":
		e.awaitAgent(agentPatience, false)
	case a.running == nil && !now.Before(a.next): // it has failed lately: nothing waits for it
		e.startAgent(true)
	}
}

// surroundings are what the agent is told besides policies.
func (e *Engine) surroundings() (s snapshot.Surroundings) {
	s.Relays = e.agent.relays
	if e.o.Networks != nil {
		s.Networks = e.o.Networks()
	}
	if e.o.Sessions != nil {
		s.Sessions = e.o.Sessions()
	}
	if e.o.Replicas != nil {
		s.Replicas = e.o.Replicas()
	}
	return s
}

// awaitAgent sends what is to be decided by, and waits for the end of that at most so
// long. If insist is true, it tries again meanwhile.
func (e *Engine) awaitAgent(patience time.Duration, insist bool) {
	a := &e.agent
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for !a.decides && (insist || a.complaint == "") {
		if a.running == nil {
			e.startAgent(true)
		}
		select {
		case r := <-a.running:
			e.agentAnswered(r)
		case <-timer.C:
			e.complainAgent("it does not answer in time")
			e.noteAgent()
			return
		}
		if a.complaint == "" {
			continue
		}
		select {
		case <-time.After(firstRetry):
		case <-timer.C:
			return
		}
	}
}

// replace takes other policies, and keeps those that are no longer wanted for a while.
func (a *agentLink) replace(all map[string]*model.Agent, now time.Time) {
	if a.retired == nil {
		a.retired = map[string]retiredPolicy{}
	}
	for id, p := range a.wanted {
		if all[id] == nil {
			a.retired[id] = retiredPolicy{p, now.Add(retirement)}
		}
	}
	for id := range all {
		delete(a.retired, id)
	}
	a.wanted = all
	a.collect()
}

// expire forgets policies that were kept long enough, and reports whether any was.
func (a *agentLink) expire(now time.Time) bool {
	before := len(a.retired)
	maps.DeleteFunc(a.retired, func(_ string, r retiredPolicy) bool { return !now.Before(r.until) })
	if len(a.retired) == before {
		return false
	}
	return a.collect()
}

// collect makes the snapshot, and reports whether it is another one.
func (a *agentLink) collect() bool {
	items := make([]snapshot.Item, 0, len(a.wanted)+len(a.retired))
	for id, p := range a.wanted {
		items = append(items, snapshot.Item{ID: id, Namespace: p.Namespace, Text: p.Policy})
	}
	for id, r := range a.retired {
		items = append(items, snapshot.Item{ID: id, Namespace: r.agent.Namespace, Text: r.agent.Policy, Old: true})
	}
	before := a.generation
	a.kept, a.generation, a.left = snapshot.Select(a.around, items)
	if before == 0 && len(items) == 0 && a.around.Replicas == nil && len(a.around.Relays) == 0 {
		a.generation = 0
	}
	if a.generation == before {
		return false
	}
	a.decides = false
	if a.complaint == "" {
		a.next = time.Time{}
	}
	return true
}

// startAgent sends the snapshot, or asks.
func (e *Engine) startAgent(send bool) {
	a := &e.agent
	a.running = make(chan agentReply, 1)
	done, generation, around, kept := a.running, a.generation, a.around, a.kept
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), agentTime)
		defer cancel()
		r := agentReply{generation: generation, asked: !send}
		if send {
			var whole []byte
			if whole, r.err = snapshot.Join(generation, around, kept); r.err == nil {
				r.reply, r.err = e.o.Agent.Send(ctx, whole)
			}
		} else {
			r.reply, r.err = e.o.Agent.Ask(ctx)
		}
		done <- r
	}()
}

// agentAnswered takes in what the agent says.
func (e *Engine) agentAnswered(r agentReply) {
	a := &e.agent
	a.running = nil
	err := r.err
	if err == nil && r.reply.Error != "" {
		err = errors.New(r.reply.Error)
	}
	now := time.Now()
	switch {
	case err == nil && r.reply.Decides(r.generation) && r.generation == a.generation:
		if a.complaint != "" {
			e.log.Info("the policy agent decides by the newest policies again", "policies", len(a.kept))
		}
		a.decides, a.complaint, a.next = true, "", now.Add(agentLook)
	case err == nil && r.generation != a.generation: // the newest one is next
		a.decides, a.next = false, now
	default:
		text := "it decides by other policies"
		if err != nil {
			text = err.Error()
		}
		e.complainAgent(text)
		a.decides, a.next = false, now.Add(agentPause)
		if err == nil { // a worker has restarted, perhaps without the file
			a.next = now
		}
	}
	if err == nil {
		e.hearAgent(&r.reply, now)
	}
	e.noteAgent()
}

// complainAgent notes why the agent does not decide by the newest policies. From then on
// no change waits for it.
func (e *Engine) complainAgent(text string) {
	if e.agent.complaint != text {
		e.log.Error("the policy agent does not decide by the newest policies; requests that it does not know get 503", "err", text)
	}
	e.agent.complaint = text
}

// noteAgent tells pipeline and metrics by which policies the agent decides.
func (e *Engine) noteAgent() {
	a := &e.agent
	ids := map[string]struct{}{}
	if a.decides {
		for id := range a.wanted {
			if a.left[id] == "" && a.closed[id] == "" {
				ids[id] = struct{}{}
			}
		}
	}
	behind := 0.0
	if !a.decides {
		behind = 1
	}
	e.o.Metrics.agentBehind.Set(behind)
	e.o.Metrics.agentLeft.Set(float64(len(a.left)))
	e.pipeline.AgentDecides(ids)
	maps.Copy(e.reports, e.pipeline.AgentFinds(a.unusable(), a.troubles))
}

// agentDue returns in how long the agent is to be told or asked, if it is.
func (e *Engine) agentDue(now time.Time) (time.Duration, bool) {
	a := &e.agent
	if e.o.Agent == nil || a.running != nil || e.pid == 0 {
		return 0, false
	}
	if a.generation == 0 { // the other routers may become known without a change of any object
		return agentLook, e.o.Replicas != nil
	}
	return max(a.next.Sub(now), 0), true
}
