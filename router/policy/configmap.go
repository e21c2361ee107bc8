package policy

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/router/model"
)

// ConfigMap is what the router keeps of a ConfigMap: its pages and authorities, read once for each
// version, because thousands of routes may show them. It is never changed.
type ConfigMap struct {
	pages map[string]model.PageUse
	// unfit says why a key is no page.
	unfit map[string]string
	// Authorities is the text of the key ca.crt.
	Authorities string
}

// maxConfigMap bounds the pages of one ConfigMap that are kept, in bytes.
const maxConfigMap = 512 << 10

// NewConfigMap reads a ConfigMap.
func NewConfigMap(c *corev1.ConfigMap) *ConfigMap {
	out := &ConfigMap{pages: map[string]model.PageUse{}, unfit: map[string]string{}, Authorities: c.Data[corev1.ServiceAccountRootCAKey]}
	total := 0
	for _, key := range slices.Sorted(maps.Keys(c.Data)) {
		text, kind := pageOf(key, c.Data[key])
		total += len(text)
		switch {
		case text == "":
			out.unfit[key] = "is empty"
		case len(text) > model.MaxPage:
			total -= len(text)
			out.unfit[key] = fmt.Sprintf("is longer than %d bytes, which is what fits into HAProxy's buffer", model.MaxPage)
		case total > maxConfigMap:
			out.unfit[key] = fmt.Sprintf("the ConfigMap has more than %d bytes of pages", maxConfigMap)
		default:
			out.pages[key] = model.PageUse{Page: model.NewPage(text), Type: kind}
		}
	}
	for key := range c.BinaryData {
		out.unfit[key] = "is binary"
	}
	return out
}

// Equal reports whether two versions hold the same pages and authorities.
func (c *ConfigMap) Equal(o *ConfigMap) bool {
	return c.Authorities == o.Authorities && maps.Equal(c.unfit, o.unfit) && maps.EqualFunc(c.pages, o.pages, func(a, b model.PageUse) bool {
		return a.Hash == b.Hash && a.Type == b.Type
	})
}

// pageOf returns the page of a key and its type, by the ending. What ends in .http is a
// whole HTTP answer, as in ConfigMaps of IngressControllers.
func pageOf(key, text string) (page, kind string) {
	switch {
	case strings.HasSuffix(key, ".json"):
		return text, "application/json"
	case strings.HasSuffix(key, ".txt"):
		return text, "text/plain;charset=utf-8"
	case strings.HasSuffix(key, ".http"):
		return answerBody(text)
	}
	return text, pageHTML
}

// answerBody returns the body of an HTTP answer and its Content-Type.
func answerBody(text string) (body, kind string) {
	kind = pageHTML
	for at, first := 0, true; at < len(text); first = false {
		end := strings.IndexByte(text[at:], '\n')
		if end < 0 {
			break
		}
		line := strings.TrimSuffix(text[at:at+end], "\r")
		at += end + 1
		if first && !strings.HasPrefix(line, "HTTP/") {
			break
		}
		if line == "" {
			return text[at:], kind
		}
		if name, value, ok := strings.Cut(line, ":"); ok && strings.EqualFold(name, "content-type") {
			if read, err := contentType(strings.TrimSpace(value)); err == nil && read != "" {
				kind = read
			}
		}
	}
	return text, kind
}

// one returns the page of a key for some statuses, or what is wrong with it.
func (c *ConfigMap) one(key string, codes map[int]bool) (map[int]model.PageUse, []string) {
	use, ok := c.pages[key]
	if !ok {
		why := c.unfit[key]
		if why == "" {
			why = "does not exist"
		}
		return nil, []string{"key " + key + ": " + why}
	}
	uses := make(map[int]model.PageUse, len(codes))
	for status := range codes {
		uses[status] = use
	}
	return uses, nil
}

// statusKey are the keys that say what status they are for. The longer beginning is how
// ConfigMaps of IngressControllers name them.
var statusKey = regexp.MustCompile(`^(error-page-)?([45])([0-9]{2}|xx)(\.(html|htm|json|txt|http))?$`)

// byStatus returns the pages of some statuses, by the names of the keys. A whole status
// goes before a class such as 5xx; of two keys for the same the first one in order counts.
func (c *ConfigMap) byStatus(codes map[int]bool) (map[int]model.PageUse, []string) {
	uses := map[int]model.PageUse{}
	var unfit []string
	for _, classes := range []bool{false, true} {
		for _, key := range c.statusKeys() {
			m := statusKey.FindStringSubmatch(key)
			if classes != (m[3] == "xx") {
				continue
			}
			first, last := pageStatus(m[2]+"00"), pageStatus(m[2]+"99")
			if !classes {
				first = pageStatus(m[2] + m[3])
				last = first
			}
			if why := c.unfit[key]; why != "" {
				unfit = append(unfit, "key "+key+": "+why)
				continue
			}
			for status := first; status <= last; status++ {
				if _, taken := uses[status]; !taken && codes[status] {
					uses[status] = c.pages[key]
				}
			}
		}
	}
	return uses, unfit
}

func (c *ConfigMap) statusKeys() []string {
	var keys []string
	for _, all := range [][]string{slices.Collect(maps.Keys(c.pages)), slices.Collect(maps.Keys(c.unfit))} {
		for _, key := range all {
			if statusKey.MatchString(key) {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	return keys
}
