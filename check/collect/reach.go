package collect

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/fairlead/fairlead/check"
)

// patience is how long one request or lookup may take.
const patience = 3 * time.Second

// reach asks the routers' addresses and names from this machine.
func (r *reader) reach(ctx context.Context) {
	s := r.snapshot
	if !r.options.Probe {
		r.gap(check.SourceProbes, check.Reading{Why: "--probe is none", Skipped: true})
		r.gap(check.SourceLookups, check.Reading{Why: "--probe is none", Skipped: true})
		return
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, target := range s.Targets() {
		wg.Go(func() {
			p := ask(ctx, target, r.options.Now)
			mu.Lock()
			defer mu.Unlock()
			s.Probes = append(s.Probes, p)
		})
	}
	for _, name := range s.Names() {
		wg.Go(func() {
			l := lookUp(ctx, name)
			mu.Lock()
			defer mu.Unlock()
			s.Lookups = append(s.Lookups, l)
		})
	}
	wg.Wait()
	slices.SortFunc(s.Probes, func(a, b check.Probe) int {
		return cmp.Or(cmp.Compare(a.Router, b.Router), cmp.Compare(a.Scheme, b.Scheme), cmp.Compare(a.Address, b.Address))
	})
	slices.SortFunc(s.Lookups, func(a, b check.Lookup) int { return cmp.Compare(a.Host, b.Host) })
	for i := range s.Lookups {
		if why := s.Lookups[i].Error; why != "" {
			r.gap(check.SourceLookups, check.Reading{Why: why, Some: true})
		}
	}
}

// ask makes one request, over a connection of its own.
func ask(ctx context.Context, target check.Target, now func() time.Time) check.Probe {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	p := check.Probe{Target: target}
	dialer := &net.Dialer{}
	client := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DisableKeepAlives: true,
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return dialer.DialContext(ctx, network, target.Address)
			},
			// The question is whether the address answers. Certificates are judged by their text.
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ServerName: target.Host}, //nolint:gosec // nothing is sent or believed
		},
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.Scheme+"://"+target.Host+"/", http.NoBody)
	if err != nil {
		p.Error = err.Error()
		return p
	}
	req.Header.Set("User-Agent", "kubectl-fairlead status")
	start := now()
	answer, err := client.Do(req)
	p.Took = now().Sub(start)
	if err != nil {
		p.Error = short(err)
		return p
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<16)) // the status is the answer
	p.Status = answer.StatusCode
	return p
}

// short leaves out what the reader knows: the URL.
func short(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in " + patience.String()
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return err.Error()
}

func lookUp(ctx context.Context, name check.Name) check.Lookup {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	l := check.Lookup{Name: name}
	var err error
	l.Addresses, err = net.DefaultResolver.LookupHost(ctx, name.Host+".")
	if err == nil {
		return l
	}
	if d, ok := errors.AsType[*net.DNSError](err); ok && d.IsNotFound {
		l.NotFound = true
		return l
	}
	l.Error = "look up " + name.Host + ": " + short(err)
	return l
}
