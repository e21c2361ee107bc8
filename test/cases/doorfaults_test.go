package cases

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// withPolicy is a fault of one more policy of the namespace, with other groups.
func withPolicy(name, groups string) fault {
	return fault{
		name: name,
		do: func(t *testing.T, b *doorsBed) {
			b.each(t, func(d *closedDoor) string {
				return fmt.Sprintf("kind: RoutePolicy\nmetadata: {namespace: %s, name: more}\nspec: {%s}", d.namespace(), groups)
			})
		},
		end: func(_ *testing.T, b *doorsBed) { b.remove(inNamespace("RoutePolicy", "more")) },
	}
}

// trafficFaults are other ways for a request to go: each asks the same of it.
func trafficFaults() []fault {
	return []fault{
		withPolicy("a canary for all requests", "canary: {services: [{name: auth, weight: 100}]}"),
		withPolicy("a canary by header", `canary: {services: [{name: auth, when: [{type: Header, name: Authorization, match: Present}, {type: Cookie, name: c, match: Present}]}]}`),
		withPolicy("retries of everything", "retries: {attempts: 3, when: Failure, nonIdempotent: true}"),
		withPolicy("a path that is replaced", "rewrite: {prefix: /open/}"),
		withPolicy("origins that may read", `cors: {origins: ["https://a.test"], credentials: true}`),
		withPolicy("probes of the pods", "health: {active: {type: HTTP, path: /}}"),
		{
			name: "a solver beside it, for the path of ACME", routeOnly: true,
			do: func(t *testing.T, b *doorsBed) {
				b.each(t, func(d *closedDoor) string {
					return fmt.Sprintf("kind: Route\nmetadata: {namespace: %s, name: solver}\nspec: {host: %s, path: /.well-known/acme-challenge/token, to: {kind: Service, name: auth}}", d.namespace(), d.hosts()[0])
				})
			},
			end: func(_ *testing.T, b *doorsBed) { b.remove(inNamespace("Route", "solver")) },
		},
		{
			name: "TLS that ends at the pods", routeOnly: true,
			do: func(t *testing.T, b *doorsBed) {
				b.each(t, func(d *closedDoor) string {
					return fmt.Sprintf("kind: Route\nmetadata: {namespace: %s, name: exact, labels: {door: closed}}\nspec: {host: %s, port: {targetPort: https}, to: {kind: Service, name: web}, tls: {termination: passthrough}}", d.namespace(), d.hosts()[0])
				})
			},
			end: func(t *testing.T, b *doorsBed) { b.each(t, func(d *closedDoor) string { return d.routes("") }) },
		},
	}
}

// lateFaults are about what comes too late, or not at all.
func lateFaults() []fault {
	return []fault{
		{
			name: "the router may not read Secrets any more",
			do:   func(_ *testing.T, b *doorsBed) { b.forbidSecrets(errors.New("secrets is forbidden")) },
			end:  func(_ *testing.T, b *doorsBed) { b.forbidSecrets(nil) },
		},
		{
			name: "the agent hears of nothing", agent: true,
			do: func(t *testing.T, b *doorsBed) {
				b.signalWorkers(syscall.SIGSTOP)
				b.weakened.Add(1) // until this is taken back, a request may get through
				b.each(t, func(d *closedDoor) string { return d.policy("door", d.weaker) })
				asMeant(t, b)
				b.weakened.Add(1)
				b.signalWorkers(syscall.SIGCONT)
			},
		},
		{
			name: "HAProxy is killed",
			do: func(t *testing.T, b *doorsBed) {
				before := b.pid()
				kill(t, before)
				b.eventually("another HAProxy", func() error {
					if pid, err := workerPID(b.bed); err != nil || pid == before {
						return fmt.Errorf("process %d: %w", pid, err)
					}
					return nil
				})
			},
		},
	}
}

// forbidSecrets has the cluster refuse to show any Secret, or shows them again.
func (b *doorsBed) forbidSecrets(why error) {
	b.cluster.mu.Lock()
	b.cluster.forbidden = why
	for i := range b.doors {
		for name := range b.doors[i].secrets {
			b.cluster.mark(model.Object{Kind: door.KindSecret, Namespace: b.doors[i].namespace(), Name: name})
		}
	}
	b.cluster.mu.Unlock()
	b.apply(change{})
}
