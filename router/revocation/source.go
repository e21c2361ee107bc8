package revocation

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fairlead/fairlead/router/statefile"
)

const (
	fetchTimeout = 30 * time.Second
	// maxList bounds what is read of one list.
	maxList = 16 << 20
	pemList = "X509 CRL"
)

// source is where one authority publishes a list. Only Run fetches; the rest
// is guarded by the Fetcher's mutex.
type source struct {
	authority string
	urls      []string

	list *x509.RevocationList
	text string // the list as PEM
	tag  string // the server's ETag of it
	err  error
	next time.Time
}

// answer is what a server sent; list is nil if nothing is new.
type answer struct {
	list      *x509.RevocationList
	text, tag string
}

func parseBundle(bundle string) []*x509.Certificate {
	var all []*x509.Certificate
	for rest := []byte(bundle); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return all
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			all = append(all, c)
		}
	}
}

// sourcesOf returns the sources that a bundle names, and those of them that
// are new. The others are those that an earlier bundle named too.
func sourcesOf(bundle string, known []*source) (all, fresh []*source) {
	seen := map[string]bool{}
	for _, c := range parseBundle(bundle) {
		id := strings.Join(c.CRLDistributionPoints, "\n")
		if id == "" || seen[id] {
			continue
		}
		seen[id] = true
		i := slices.IndexFunc(known, func(k *source) bool { return strings.Join(k.urls, "\n") == id })
		if i >= 0 {
			all = append(all, known[i])
			continue
		}
		s := &source{authority: c.Subject.String(), urls: c.CRLDistributionPoints}
		all, fresh = append(all, s), append(fresh, s)
	}
	return all, fresh
}

// problem says what is wrong with the list, or nothing.
func (s *source) problem(now time.Time) string {
	name := "the revocation list that " + s.authority + " names"
	switch {
	case s.list == nil && s.err == nil:
		return name + " has not been fetched yet"
	case s.list == nil:
		return name + " cannot be fetched: " + s.err.Error()
	case expired(s.list, now) && s.err != nil:
		return fmt.Sprintf("%s ended at %s and cannot be renewed: %v", name, s.list.NextUpdate.Format(time.RFC3339), s.err)
	case expired(s.list, now):
		return fmt.Sprintf("%s ended at %s", name, s.list.NextUpdate.Format(time.RFC3339))
	}
	return ""
}

func expired(l *x509.RevocationList, now time.Time) bool {
	return !l.NextUpdate.IsZero() && now.After(l.NextUpdate)
}

// take notes an answer and reports whether there is a new list.
func (s *source) take(a answer, err error, now time.Time, retry time.Duration) bool {
	if s.err = err; err != nil {
		s.next = now.Add(retry)
		return false
	}
	fresh := a.list != nil
	if fresh {
		s.list, s.text, s.tag = a.list, a.text, a.tag
	}
	left := time.Hour
	if s.list != nil && !s.list.NextUpdate.IsZero() {
		left = s.list.NextUpdate.Sub(now)
	}
	s.next = now.Add(min(max(left/2, shortest), longest))
	return fresh
}

// get asks the URLs of a source in order until one has a list that can be used.
func (f *Fetcher) get(ctx context.Context, s *source, cas []*x509.Certificate) (answer, error) {
	var failed []string
	for _, u := range s.urls {
		a, err := f.getURL(ctx, u, s, cas)
		if err == nil {
			return a, nil
		}
		failed = append(failed, err.Error())
	}
	return answer{}, errors.New(strings.Join(failed, "; "))
}

func (f *Fetcher) getURL(ctx context.Context, address string, s *source, cas []*x509.Certificate) (answer, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return answer{}, fmt.Errorf("%s is no http address", address)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return answer{}, err
	}
	if s.tag != "" {
		request.Header.Set("If-None-Match", s.tag)
	}
	response, err := f.client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNotModified && s.list != nil && !expired(s.list, f.o.Now()) {
		return answer{}, nil
	}
	if response.StatusCode != http.StatusOK {
		return answer{}, fmt.Errorf("%s answers %s", address, response.Status)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxList+1))
	if err != nil {
		return answer{}, fmt.Errorf("read %s: %w", address, err)
	}
	if len(body) > maxList {
		return answer{}, fmt.Errorf("%s is larger than %d MiB", address, maxList>>20)
	}
	list, err := parseList(body, cas)
	switch {
	case err != nil:
		return answer{}, fmt.Errorf("%s: %w", address, err)
	case expired(list, f.o.Now()):
		return answer{}, fmt.Errorf("%s: the list there ended at %s", address, list.NextUpdate.Format(time.RFC3339))
	case s.list != nil && list.ThisUpdate.Before(s.list.ThisUpdate):
		return answer{}, fmt.Errorf("%s: the list there is older than the one before", address)
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: pemList, Bytes: list.Raw}))
	return answer{list: list, text: text, tag: response.Header.Get("ETag")}, nil
}

// parseList reads DER or PEM. The list must be signed by an authority of the
// bundle: plain http protects nothing on the way.
func parseList(body []byte, cas []*x509.Certificate) (*x509.RevocationList, error) {
	if block, _ := pem.Decode(body); block != nil {
		if block.Type != pemList {
			return nil, fmt.Errorf("it holds %s and no revocation list", block.Type)
		}
		body = block.Bytes
	}
	list, err := x509.ParseRevocationList(body)
	if err != nil {
		return nil, fmt.Errorf("it is no revocation list: %w", err)
	}
	for _, ca := range cas {
		if list.CheckSignatureFrom(ca) == nil {
			return list, nil
		}
	}
	return nil, errors.New("no authority of ca-bundle.pem has signed it")
}

// kept is a list in the file.
type kept struct {
	Text string `json:"text"`
	Tag  string `json:"tag,omitempty"`
}

// stateFile keeps the lists, maxState bounds it: some lists of the largest size.
const (
	stateFile = "revocation-lists.json"
	maxState  = 2 * maxList
)

// keep writes the lists for the next process.
func keep(to *statefile.Store, sources []*source) error {
	if to == nil {
		return nil
	}
	all := map[string]kept{}
	for _, s := range sources {
		if s.list != nil {
			all[s.urls[0]] = kept{s.text, s.tag}
		}
	}
	data, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("encode the revocation lists: %w", err)
	}
	if len(data) > maxState {
		return fmt.Errorf("the revocation lists have %d bytes together, and %d is the most that is kept", len(data), maxState)
	}
	return to.Write(stateFile, data)
}

// recall gives new sources the lists of the process before, so that a
// restart admits and refuses the same clients.
func recall(from *statefile.Store, sources []*source, cas []*x509.Certificate) {
	if from == nil || len(sources) == 0 {
		return
	}
	from.Read(stateFile, maxState, func(data []byte) error { return recallText(data, sources, cas) })
}

// recallText takes lists that an authority of the bundle has signed.
func recallText(data []byte, sources []*source, cas []*x509.Certificate) error {
	all := map[string]kept{}
	if err := json.Unmarshal(data, &all); err != nil {
		return fmt.Errorf("read the revocation lists: %w", err)
	}
	for _, s := range sources {
		k, ok := all[s.urls[0]]
		if !ok {
			continue
		}
		list, err := parseList([]byte(k.Text), cas)
		if err != nil {
			return err
		}
		s.list, s.tag = list, k.Tag
		s.text = string(pem.EncodeToMemory(&pem.Block{Type: pemList, Bytes: list.Raw}))
	}
	return nil
}
