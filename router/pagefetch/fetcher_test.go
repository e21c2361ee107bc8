package pagefetch

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
	"github.com/fairlead/fairlead/test/wait"
)

// answers are what Services answer in a test.
type answers struct {
	mu sync.Mutex
	// text of "address status"; none is an error.
	text  map[string]string
	asked int
	// now and most are the requests under way.
	now, most int
	hang      chan struct{}
}

func (a *answers) ask(ctx context.Context, at netip.AddrPort, f *model.PageFetch, code int) (model.PageUse, error) {
	a.mu.Lock()
	a.asked++
	a.now++
	a.most = max(a.most, a.now)
	text, ok := a.text[fmt.Sprint(at, " ", code)]
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		a.now--
		a.mu.Unlock()
	}()
	if f.Key.Namespace == "hangs" {
		select {
		case <-a.hang:
		case <-ctx.Done():
			return model.PageUse{}, ctx.Err()
		}
	}
	if !ok {
		return model.PageUse{}, errors.New("does not answer")
	}
	return policy.NewPageUse([]byte(text), "text/plain")
}

func (a *answers) say(text map[string]string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.text = text
}

// started returns a fetcher that runs, and what it found out.
func started(t *testing.T, a *answers) (*Fetcher, func(namespace, service string) string) {
	t.Helper()
	f := New()
	f.ask, f.every, f.retry = a.ask, 5*time.Millisecond, 2*time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = f.Run(ctx) }()
	var mu sync.Mutex
	found := map[model.Object]*policy.ServicePages{}
	go func() {
		for {
			select {
			case all := <-f.Results():
				mu.Lock()
				for _, r := range all {
					found[r.Key] = r.Pages
				}
				mu.Unlock()
			case <-ctx.Done():
				return
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return f, func(namespace, service string) string {
		mu.Lock()
		defer mu.Unlock()
		pages := found[model.Object{Kind: "PageFetch", Namespace: namespace, Name: service}]
		if pages == nil {
			return "nothing"
		}
		var out []string
		for code := model.FirstPageStatus; code <= model.LastPageStatus; code++ {
			if use, ok := pages.Pages[code]; ok {
				out = append(out, fmt.Sprint(code, "=", use.Text[:min(len(use.Text), 10)]))
			}
			if why := pages.Unfit[code]; why != "" {
				out = append(out, fmt.Sprint(code, "!", why))
			}
		}
		return strings.Join(out, " ")
	}
}

func fetch(namespace, service, addresses string, codes ...int) model.PageFetch {
	f := model.PageFetch{Key: model.Object{Kind: "PageFetch", Namespace: namespace, Name: service}, Codes: codes}
	for a := range strings.FieldsSeq(addresses) {
		f.Addresses = append(f.Addresses, netip.MustParseAddrPort(a))
	}
	return f
}

func becomes(t *testing.T, got func() string, want string) {
	t.Helper()
	err := wait.Poll{Limit: 20 * time.Second}.Until(t.Context(), "the pages are as wanted", func() error {
		if text := got(); text != want {
			return fmt.Errorf("%q, want %q", text, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestFetcher: pages come from any endpoint that answers, follow what it says, stay when it
// says nothing, and go with the route.
func TestFetcher(t *testing.T) {
	t.Parallel()
	a := &answers{text: map[string]string{"198.18.0.1:80 404": "first", "198.18.0.1:80 503": "other"}}
	f, of := started(t, a)
	got := func() string { return of("ns", "errors") }
	f.Set([]model.PageFetch{fetch("ns", "errors", "198.18.0.1:80 198.18.0.2:80", 404, 503, 599)})
	becomes(t, got, "404=first 503=other 599!does not answer")
	a.say(map[string]string{"198.18.0.2:80 404": "second", "198.18.0.2:80 599": "there"})
	becomes(t, got, "404=second 503=other 503!does not answer 599=there")
	f.Set([]model.PageFetch{fetch("ns", "errors", "198.18.0.2:80", 599), fetch("ns", "more", "", 404)})
	becomes(t, got, "599=there")
	f.Set(nil)
	wait.Poll{Limit: 20 * time.Second}.Until(t.Context(), "all bytes are given back", func() error { //nolint:errcheck // looked at below
		f.mu.Lock()
		defer f.mu.Unlock()
		return wait.True(len(f.bytes) == 1 && f.bytes[""] == 0)
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.bytes[""] != 0 {
		t.Errorf("%v bytes are counted for no page", f.bytes)
	}
}

// TestFetcherBounds: Services that hang delay those of other namespaces not at all, and of
// their own there are two requests at a time; the bytes of a namespace are bounded.
func TestFetcherBounds(t *testing.T) {
	t.Parallel()
	a := &answers{text: map[string]string{}, hang: make(chan struct{})}
	long := strings.Repeat("x", model.MaxPage)
	var codes []int
	for code := 400; code < 480; code++ {
		codes = append(codes, code)
		a.text[fmt.Sprint("198.18.0.1:80 ", code)] = long
	}
	f, of := started(t, a)
	all := []model.PageFetch{fetch("ns", "errors", "198.18.0.1:80", codes...)}
	for i := range 50 {
		all = append(all, fetch("hangs", fmt.Sprint("s", i), "198.18.0.1:80", 404))
	}
	f.Set(all)
	err := wait.Poll{Limit: 20 * time.Second}.Until(t.Context(), "a namespace keeps no more", func() error {
		text := of("ns", "errors")
		return wait.True(strings.Count(text, "=xxxx") == maxBytesOfNamespace/model.MaxPage && strings.Contains(text, "keeps no more bytes"))
	})
	if err != nil {
		t.Fatal(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.most > 2*atOnceOfNamespace || a.now < atOnceOfNamespace {
		t.Errorf("%d requests at a time, %d hang", a.most, a.now)
	}
}
