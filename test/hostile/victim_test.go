package hostile

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/install"
	"github.com/fairlead/fairlead/test/wait"
)

const (
	// routes is how many the victim has, perSecond how many requests it gets.
	routes, perSecond = 100, 500
	// connections carry the victim's requests, as those of clients that stay.
	connections = 20
	domain      = "victim.example.com"
)

// guarded is a host of the victim of which all clients may see "/", and none "/text".
const guarded = "guarded." + domain

// victim is the tenant that is watched: its pods are those of the samples.
type victim struct {
	p      *install.Product
	client *http.Client
	// looks sees changes: on a connection of its own, because a look is not to
	// stand behind the load in the client's queue for one.
	looks *http.Client
	round int
	// watched tells the API server's part of the time of a change.
	watched *watched
	// standstills are not what it waited for.
	standstills *standstills
}

// seen is what the victim saw for a while.
type seen struct {
	mu            sync.Mutex
	asked, failed int
	took          []time.Duration
	errs          []error
	changes       []change
	changeErr     error
	// stolen is the share of the processors' time that the machine's host gave to others.
	stolen float64
}

func newVictim(t *testing.T, p *install.Product) *victim {
	t.Helper()
	v := &victim{p: p, client: clientFrom(p, "client", connections), looks: clientFrom(p, "client", 1), watched: watchRoutes(t), standstills: watchProcessors(t)}
	var objects strings.Builder
	for i := range routes {
		objects.WriteString(victimRoute(fmt.Sprintf("v%d", i), i%3 == 0, ""))
	}
	objects.WriteString(victimRoute("guarded", false, ""))
	objects.WriteString(strings.Replace(victimRoute("guarded", false, closed+": 192.0.2.1"), "{name: guarded,", "{name: guarded-text,", 1) + "  path: /text\n")
	if err := apply(t.Context(), victimUser, objects.String()); err != nil {
		t.Fatal(err)
	}
	for i := range routes {
		wait.Poll{Limit: time.Minute, Every: wait.Slowly}.For(t, "the victim's routes serve", func() error {
			return v.ask(t.Context(), fmt.Sprintf("v%d", i), i%3 == 0)
		})
	}
	return v
}

// clientFrom returns a client on a host of the cluster's network. It keeps so
// many connections, and reaches every host at the router's address.
func clientFrom(p *install.Product, host string, keep int) *http.Client {
	dial := p.Cluster.Dial(host)
	return &http.Client{
		Timeout: 5 * time.Second,
		Transport: &http.Transport{
			DialContext:         dial,
			MaxIdleConns:        keep,
			MaxIdleConnsPerHost: keep,
			MaxConnsPerHost:     keep,
			// Whose certificate answers is asked elsewhere; one connection serves all hosts here.
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ServerName: "v0." + domain},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func victimRoute(name string, secure bool, annotations string) string {
	tls := ""
	if secure {
		tls = "  tls: {termination: edge}\n"
	}
	return fmt.Sprintf(`---
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: %[1]s, namespace: demo, annotations: {%[3]s}}
spec:
  host: %[1]s.`+domain+`
  port: {targetPort: http}
  to: {kind: Service, name: demo-v1}
%[2]s`, name, tls, annotations)
}

// ask sends one request and returns an error unless the victim's pod answers.
func (v *victim) ask(ctx context.Context, name string, secure bool) error {
	status, body, err := v.get(ctx, v.client, name, secure)
	if err == nil && (status != http.StatusOK || !strings.HasPrefix(body, "demo v1 ")) {
		err = fmt.Errorf("%s answers %d %q", name, status, body)
	}
	return err
}

func (v *victim) get(ctx context.Context, client *http.Client, name string, secure bool) (status int, body string, err error) {
	scheme := "http"
	if secure {
		scheme = "https"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+v.p.Address+"/text", nil)
	if err != nil {
		return 0, "", err
	}
	req.Host = name + "." + domain
	answer, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), err
}

// watch sends the load and makes changes for a while.
func (v *victim) watch(ctx context.Context, d time.Duration) *seen {
	s := &seen{}
	before, all := stolen()
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var running sync.WaitGroup
	running.Go(func() { v.change(ctx, s) })
	tick := time.NewTicker(time.Second / perSecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			running.Wait()
			now, total := stolen()
			s.stolen = (now - before) / max(total-all, 1)
			for i, c := range s.changes {
				s.changes[i].still = v.standstills.within(c.began, c.began.Add(c.live))
			}
			return s
		case <-tick.C:
			running.Go(func() { v.measure(context.WithoutCancel(ctx), s, i%routes) })
		}
	}
}

func (v *victim) measure(ctx context.Context, s *seen, n int) {
	began := time.Now()
	err := v.ask(ctx, fmt.Sprintf("v%d", n), n%3 == 0)
	took := time.Since(began)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	s.took = append(s.took, took)
	if err != nil {
		s.failed++
		s.errs = append(s.errs[:min(len(s.errs), 4)], err)
	}
}

func (s *seen) percentile(p int) time.Duration {
	if len(s.took) == 0 {
		return 0
	}
	slices.Sort(s.took)
	return s.took[min(len(s.took)-1, len(s.took)*p/100)]
}

func (s *seen) log(t *testing.T, what string) {
	t.Helper()
	t.Logf("%s: %d requests, %d failed, p50 %v, p99 %v; %.1f %% of processor time was the host's for others; %d changes, slowest:", what, s.asked, s.failed,
		s.percentile(50).Round(10*time.Microsecond), s.percentile(99).Round(10*time.Microsecond), 100*s.stolen, len(s.changes))
	slices.SortFunc(s.changes, func(a, b change) int { return cmp.Compare(b.live, a.live) })
	for _, c := range s.changes[:min(len(s.changes), 5)] {
		t.Log("  ", c)
	}
}
