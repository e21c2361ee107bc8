package controller_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// patient is a hook that is never finished, and wants to be asked again after a while.
type patient struct {
	hook.LoadBalancerHook
	after time.Duration

	mu              sync.Mutex
	ensure, removal []time.Time
}

func (p *patient) Validate(context.Context, *hook.Spec) []hook.FieldProblem { return nil }
func (p *patient) ListOwned(context.Context) ([]hook.Ref, error)            { return nil, nil }

func (p *patient) Ensure(context.Context, *hook.Spec) (*hook.Result, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ensure = append(p.ensure, time.Now())
	return &hook.Result{
		State: hook.StatePending, Reason: "LoadBalancerPending", Message: "not yet", Handle: "lb-1", HostedZone: "Z1", RetryAfter: hook.Duration(p.after),
		Ingress: []hook.Ingress{{Hostname: "lb-1.example.com"}},
	}, nil
}

func (p *patient) Delete(context.Context, *hook.Deletion) (*hook.DeleteResult, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.removal = append(p.removal, time.Now())
	return &hook.DeleteResult{Done: len(p.removal) > 1, Waiting: "the network cards", RetryAfter: hook.Duration(p.after)}, nil
}

// between returns the first pause, or 0 where there was none yet.
func (p *patient) between(calls *[]time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(*calls) < 2 {
		return 0
	}
	return (*calls)[1].Sub((*calls)[0])
}

// TestAskedAgain: a hook that asks for a pause has it, although what we write of
// its answer wakes us at once.
func TestAskedAgain(t *testing.T) {
	b := newBed(t)
	p := &patient{after: 3 * time.Second}
	b.options.Hook = p
	defer b.start()()
	s := b.service("patient", nil)
	again := func(name string, calls *[]time.Time) {
		t.Helper()
		b.eventually(func() string {
			if p.between(calls) == 0 {
				return name + " was not called again"
			}
			return ""
		})
		if d := p.between(calls); d < p.after {
			t.Errorf("%s was called again after %s, want %s", name, d, p.after)
		}
	}
	again("ensure", &p.ensure)
	must(t, b.Delete(t.Context(), s))
	again("delete", &p.removal)
}
