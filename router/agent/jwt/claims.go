package jwt

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how deep the JSON of a token may be nested.
const MaxDepth = 16

// header is what is read of a token's header.
type header struct {
	Algorithm string          `json:"alg"`
	KeyID     string          `json:"kid"`
	Type      string          `json:"typ"`
	Content   string          `json:"cty"`
	Critical  json.RawMessage `json:"crit"`
	Unencoded json.RawMessage `json:"b64"`
}

// parseHeader reads the first part of a token by rules of its own, before the
// library does.
func parseHeader(text string, types []string) (header, error) {
	var h header
	first, _, found := strings.Cut(text, ".")
	if !found {
		return h, invalid("it is not a signed token in compact form")
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(first)
	if err != nil || strict(raw) != nil || !exact(raw, &h) {
		return h, invalid("its header cannot be read in one way only")
	}
	typ := strings.TrimPrefix(strings.ToLower(h.Type), "application/")
	switch {
	case h.Critical != nil || h.Unencoded != nil:
		return h, invalid("its header has extensions")
	case typ != "" && !slices.Contains(types, typ):
		return h, invalid("its type is another one")
	case h.Content != "":
		return h, invalid("it holds another token")
	case h.Algorithm == "" || len(h.KeyID) > 256:
		return h, invalid("its header has no algorithm, or a long kid")
	}
	return h, nil
}

// exact reads an object into h. encoding/json takes names in any case; a header with
// such a name is refused, because another program may read it.
func exact(raw []byte, h *header) bool {
	var names map[string]json.RawMessage
	if json.Unmarshal(raw, &names) != nil || json.Unmarshal(raw, h) != nil {
		return false
	}
	for name := range names {
		switch l := strings.ToLower(name); l {
		case "alg", "kid", "typ", "cty", "crit", "b64":
			if l != name {
				return false
			}
		}
	}
	return true
}

// strict returns an error for JSON that programs may read in different ways: a name
// that stands twice, text that is not UTF-8, a second value, or deep nesting.
func strict(raw []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	deepest := 0
	for {
		_, err := d.ReadToken()
		if err != nil {
			if d.StackDepth() == 0 && deepest > 0 && d.InputOffset() == int64(len(bytes.TrimRight(raw, " \t\r\n"))) {
				return nil
			}
			return err
		}
		if deepest = max(deepest, d.StackDepth()); deepest > MaxDepth {
			return errors.New("nested too deeply")
		}
		if d.StackDepth() == 0 && deepest > 0 {
			rest := raw[d.InputOffset():]
			if len(bytes.TrimSpace(rest)) > 0 {
				return errors.New("a second value")
			}
			return nil
		}
	}
}

// Claims are the claims of a token. Numbers are json.Number.
type Claims map[string]any

// ReadClaims reads claims of a token that were verified and kept as JSON.
func ReadClaims(text []byte) (Claims, error) { return parseClaims(text) }

// Keep returns the claims of some names, which may be those of nested objects with dots
// between.
func (c Claims) Keep(names []string) Claims {
	out := Claims{}
	for _, name := range names {
		if v, ok := c[name]; ok {
			out[name] = v
			continue
		}
		first, _, _ := strings.Cut(name, ".")
		if v, ok := c[first]; ok {
			out[first] = v
		}
	}
	return out
}

func parseClaims(payload []byte) (Claims, error) {
	if strict(payload) != nil {
		return nil, invalid("its claims cannot be read in one way only")
	}
	d := json.NewDecoder(bytes.NewReader(payload))
	d.UseNumber()
	var c Claims
	if d.Decode(&c) != nil || c == nil {
		return nil, invalid("its claims are no object")
	}
	return c, nil
}

func (c Claims) text(name string) (string, bool) {
	s, ok := c[name].(string)
	return s, ok
}

// time reads a date: seconds since 1970, at most until the year 9999.
func (c Claims) time(name string) (at time.Time, found bool, err error) {
	v, found := c[name]
	if !found {
		return at, false, nil
	}
	n, ok := v.(json.Number)
	if !ok {
		return at, false, invalid(name + " is no number")
	}
	f, err := n.Float64()
	if err != nil || math.IsNaN(f) || f < 0 || f > 253402300799 {
		return at, false, invalid(name + " is no date")
	}
	return time.Unix(int64(f), 0), true, nil
}

// look returns a claim by its name, or by names of nested objects with dots between.
// A claim whose own name has dots comes first.
func (c Claims) look(name string) (any, bool) {
	if v, ok := c[name]; ok {
		return v, true
	}
	var at any = map[string]any(c)
	for part := range strings.SplitSeq(name, ".") {
		o, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		if at, ok = o[part]; !ok {
			return nil, false
		}
	}
	return at, true
}

// Values returns a claim as texts: one, or the items of a list. Objects, null, and lists
// with them are as if they were missing.
func (c Claims) Values(name string) ([]string, bool) {
	v, ok := c.look(name)
	if !ok {
		return nil, false
	}
	list, isList := v.([]any)
	if !isList {
		list = []any{v}
	}
	values := make([]string, 0, len(list))
	for _, item := range list {
		s, ok := scalar(item)
		if !ok {
			return nil, false
		}
		values = append(values, s)
	}
	return values, true
}

func scalar(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		if v {
			return "true", true
		}
		return "false", true
	}
	return "", false
}

// Form is how a claim becomes the value of a header.
type Form string

// The forms of a claim.
const (
	// Text is the claim itself; items of a list are joined by commas.
	Text Form = "Text"
	// Base64 is the base64 of Text, for claims with any characters.
	Base64 Form = "Base64"
	// JSON is the claim's JSON in ASCII.
	JSON Form = "JSON"
)

// HeaderValue returns a claim as the value of a header. It reports false if the claim is
// missing, or cannot be written in this form without changing its meaning: a text with
// control characters, or a list with an item that has a comma. The header then must be
// absent.
func (c Claims) HeaderValue(name string, form Form) (string, bool) {
	if form == JSON {
		v, ok := c.look(name)
		if !ok {
			return "", false
		}
		return asciiJSON(v)
	}
	values, ok := c.Values(name)
	if !ok {
		return "", false
	}
	text := strings.Join(values, ",")
	switch form {
	case Base64:
		return base64.StdEncoding.EncodeToString([]byte(text)), true
	case Text:
		for _, v := range values {
			if len(values) > 1 && strings.Contains(v, ",") || strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				return "", false
			}
		}
		return text, strings.TrimSpace(text) == text
	case JSON:
	}
	return "", false
}

// asciiJSON encodes a claim without characters beyond ASCII.
func asciiJSON(v any) (string, bool) {
	raw, err := json.Marshal(v)
	if err != nil {
		return "", false
	}
	var b strings.Builder
	for _, r := range string(raw) {
		switch {
		case r < 0x7f:
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			writeEscape(&b, 0xd800+r>>10)
			writeEscape(&b, 0xdc00+r&0x3ff)
		default:
			writeEscape(&b, r)
		}
	}
	return b.String(), true
}

func writeEscape(b *strings.Builder, r rune) {
	const digits = "0123456789abcdef"
	b.WriteString(`\u`)
	for shift := 12; shift >= 0; shift -= 4 {
		b.WriteByte(digits[r>>shift&15])
	}
}
