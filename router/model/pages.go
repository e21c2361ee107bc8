package model

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/netip"
	"slices"
	"strconv"
)

// Page is what clients get in place of an answer. It is never changed.
type Page struct {
	// Hash stands for the text.
	Hash string
	Text string
}

// MaxPage is how long a page may be, in bytes: with the headers of an answer it has to
// fit into HAProxy's smallest buffer, less what is kept for changes.
const MaxPage = 16000

// pagePart is how much of a page one entry of a map holds: in base64 a line of a map
// file, of which HAProxy reads 16 KiB (3.0 to 3.4).
const pagePart = 8000

// NewPage returns a page. The hash is long enough that no two texts can be found with
// the same one: pages of all tenants stand in one map.
func NewPage(text string) *Page {
	sum := sha256.Sum256([]byte(text))
	return &Page{Hash: hex.EncodeToString(sum[:16]), Text: text}
}

// NoPart stands in place of an empty part: map entries have a value, and b64dec makes
// nothing of it.
const NoPart = "-"

// Parts returns the text as two values of a map, in base64.
func (p *Page) Parts() (first, second string) { return PageParts(p.Text) }

// PageParts returns a text of at most MaxPage bytes in base64, in two parts.
func PageParts(text string) (first, second string) {
	encode := func(s string) string {
		if s == "" {
			return NoPart
		}
		return base64.StdEncoding.EncodeToString([]byte(s))
	}
	cut := min(len(text), pagePart)
	return encode(text[:cut]), encode(text[cut:])
}

// PageFetch is what the router asks a Service for.
type PageFetch struct {
	// Key stands for the Service and its port.
	Key Object
	// Host is the name of the Service in requests.
	Host string
	// Codes are the statuses to ask for, in order.
	Codes []int
	// Addresses are its endpoints, in order. It may have none for the moment.
	Addresses []netip.AddrPort
}

// Equal reports whether the same is asked for at the same endpoints.
func (f PageFetch) Equal(o PageFetch) bool {
	return f.Key == o.Key && f.Host == o.Host && slices.Equal(f.Codes, o.Codes) && slices.Equal(f.Addresses, o.Addresses)
}

// PageUse is a page as a route shows it.
type PageUse struct {
	*Page
	// Type is the Content-Type: one word.
	Type string
}

// Pages are the pages of a route, by status.
type Pages struct {
	// Unused says that none is shown, because there are too many.
	Unused bool
	// Router are for answers that the router makes itself, Pod for those of pods.
	Router, Pod map[int]PageUse
}

// The statuses that may have a page.
const (
	FirstPageStatus = 400
	LastPageStatus  = 599
)

// PageFrom says in keys whose answers have a page.
type PageFrom string

// The letters stand before a status.
const (
	PageFromRouter PageFrom = "r"
	PageFromPod    PageFrom = "p"
)

// All returns the different pages that are shown, by their hash.
func (p *Pages) All() map[string]*Page {
	if p == nil || p.Unused {
		return nil
	}
	return p.Asked()
}

// Shown reports whether there is any page.
func (p *Pages) Shown() bool { return p != nil && !p.Unused }

// Asked returns the same, whether they are shown or not.
func (p *Pages) Asked() map[string]*Page {
	all := map[string]*Page{}
	for _, uses := range []map[int]PageUse{p.Router, p.Pod} {
		for _, u := range uses {
			all[u.Hash] = u.Page
		}
	}
	return all
}

// Keys returns the beginnings of statuses that have a page, "p5" or "r503", with what to
// show: of several beginnings the longest counts.
func (p *Pages) Keys() map[string]PageUse {
	keys := map[string]PageUse{}
	if !p.Shown() {
		return keys
	}
	for from, uses := range map[PageFrom]map[int]PageUse{PageFromRouter: p.Router, PageFromPod: p.Pod} {
		addPageKeys(keys, from, uses, 4, 100)
		addPageKeys(keys, from, uses, 5, 100)
	}
	return keys
}

// addPageKeys adds the keys of the statuses that begin with some digits: one if all of
// them show the same, else those of each further digit.
func addPageKeys(keys map[string]PageUse, from PageFrom, uses map[int]PageUse, digits, size int) {
	first, found := uses[digits*size]
	same := true
	for status := digits * size; status < (digits+1)*size; status++ {
		u, ok := uses[status]
		same = same && ok == found && u == first
	}
	switch {
	case same && found:
		keys[string(from)+strconv.Itoa(digits)] = first
	case !same:
		for d := range 10 {
			addPageKeys(keys, from, uses, digits*10+d, size/10)
		}
	}
}

// Word writes a page as the value of such a key.
func (u PageUse) Word() string { return u.Hash + separator + u.Type }
