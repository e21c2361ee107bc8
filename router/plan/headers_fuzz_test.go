package plan

import (
	"encoding/base64"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/model"
)

var (
	encoded = regexp.MustCompile(`^~?[A-Za-z0-9+/]*=*\.[A-Za-z0-9+/]*=*(\.[A-Za-z0-9+/]+=*)?$`)
	token   = regexp.MustCompile(`%%|%(?:\{([^}]*)\})?\[([^\]]*)\]|[^%]+`)
)

// headersAfter are the headers of a message after actions, by their names in
// lower case, which is how HTTP compares them.
type headersAfter map[string]string

func (h headersAfter) set(name, value string) { h[strings.ToLower(name)] = value }
func (h headersAfter) delete(name string)     { delete(h, strings.ToLower(name)) }
func (h headersAfter) add(name, value string) {
	if old, there := h[strings.ToLower(name)]; there {
		value = old + ", " + value
	}
	h.set(name, value)
}

// fetched is what a fetch with its converters gets of a message.
func (h headersAfter) fetched(words string, escape bool) string {
	list := strings.Split(words, ",")
	v := "DER\xff\x00"
	if _, name, found := strings.Cut(list[0], ".hdr("); found {
		v = h[strings.ToLower(strings.TrimSuffix(name, ")"))]
	}
	for _, c := range list[1:] {
		if c == "lower" {
			v = strings.ToLower(v)
		} else {
			v = base64.StdEncoding.EncodeToString([]byte(v))
		}
	}
	if escape {
		v = strings.NewReplacer(`"`, `\"`, `\`, `\\`, `]`, `\]`).Replace(v)
	}
	return v
}

// meant carries out actions as the API describes them.
func (h headersAfter) meant(actions []model.HeaderAction) {
	for _, a := range actions {
		if a.Delete {
			h.delete(a.Name)
			continue
		}
		change := h.set
		if a.Add {
			change = h.add
		}
		change(a.Name, token.ReplaceAllStringFunc(a.Value, func(part string) string {
			m := token.FindStringSubmatch(part)
			switch {
			case part == "%%":
				return "%"
			case m[2] != "":
				return h.fetched(m[2], escapes(m[1]))
			}
			return part
		}))
	}
}

// read carries out actions as templates/headers.lua and HAProxy's set-headers-bin
// read them.
func (h headersAfter) read(t *testing.T, text string) {
	t.Helper()
	first, second, _ := strings.Cut(text, ".")
	second, third, adds := strings.Cut(second, ".")
	removed := texts(t, decode(t, second))
	script, isScript := strings.CutPrefix(first, "~")
	if !isScript {
		set := texts(t, decode(t, first))
		for i := 0; i+1 < len(set); i += 2 {
			h.set(set[i], set[i+1])
		}
		for _, name := range removed {
			h.delete(name)
		}
		if adds {
			added := texts(t, decode(t, third))
			for i := 0; i+1 < len(added); i += 2 {
				h.add(added[i], added[i+1])
			}
		}
		return
	}
	for item := range strings.SplitSeq(decode(t, script), "\x1e") {
		fields := strings.Split(item, "\x1f")
		if fields[0] == "D" {
			h.delete(fields[1])
			continue
		}
		v := ""
		for _, part := range fields[2:] {
			if part[0] == 'L' {
				v += part[1:]
			} else {
				v += h.fetched(part[1:], part[0] == 'E')
			}
		}
		if fields[0] == "A" {
			h.add(fields[1], v)
			continue
		}
		h.set(fields[1], v)
	}
}

// texts reads texts after their lengths (HAProxy's doc/SPOE.txt) up to an empty
// one. Nothing may follow but the end of names and values.
func texts(t *testing.T, list string) []string {
	t.Helper()
	var out []string
	for at := 0; ; {
		n := int(list[at])
		at++
		if n == 0 {
			if strings.Trim(list[at:], "\x00") != "" {
				t.Fatalf("%q stands behind the end", list[at:])
			}
			return out
		}
		if n >= 240 {
			for shift, more := 4, 128; more >= 128; shift += 7 {
				more = int(list[at])
				n, at = n+more<<shift, at+1
			}
		}
		out, at = append(out, list[at:at+n]), at+n
	}
}

// FuzzHeaders: of header lists that a tenant writes, what is let through arrives
// in HAProxy as it was meant, and no text becomes another action.
func FuzzHeaders(f *testing.F) {
	f.Add("X-A", "100%% of it", "X-B", "b", uint8(0))
	f.Add("X-A", "<%[req.hdr(Host),lower]>%{+E,-Q}[req.hdr(a),base64]", "x-a", "%[ssl_c_der,base64]", uint8(0))
	f.Add("X-A", "%[res.hdr(Host)]%%[%]", "X-B", strings.Repeat("v", 5000), uint8(1))
	f.Add(strings.Repeat("n", 255), strings.Repeat("v", 240), "X-A", "", uint8(2))
	f.Add("X-A", "100%%", "X-B", "b", uint8(8))
	f.Add("X-B", "<%[req.hdr(x-b)]>", "X-B", "b", uint8(8))
	for _, odd := range []string{"", "\n", "\t", "\r", "\x00", "\f", "\v", "\x1e", "\x1f", "\x7f", "\x1eD\x1fCookie", "%", "%%%", "%[", "]", "|", ".", "~", "é", "\xff", ",", ":", "Set-Cookie"} {
		f.Add("X-A"+odd, "b", odd, "c", uint8(3))
		f.Add("X-A", "b"+odd+"c", "X-B", "%[req.hdr(a"+odd+"),lower"+odd+"]", uint8(4))
	}
	f.Fuzz(func(t *testing.T, name, value, name2, value2 string, how uint8) {
		fetch := []string{"req", "res"}[how&1]
		var actions []model.HeaderAction
		for _, a := range []model.HeaderAction{{Name: name, Value: value, Add: how&8 != 0}, {Name: name2, Value: value2, Delete: how&2 != 0}, {Name: "X-Last", Value: value}, {Name: name2, Delete: true}} {
			if _, problem := a.Problem(fetch, true, []string{"cookie", "set-cookie"}); problem == "" {
				actions = append(actions, a)
			}
		}
		if how&4 != 0 && len(actions) > 0 {
			actions = actions[:len(actions)-1]
		}
		text := encodeHeaders(actions)
		if !encoded.MatchString(text) {
			t.Fatalf("%q cannot stand in a map", text)
		}
		start := headersAfter{"host": `H"o\s]t`, "cookie": "kept", "a": "A", "x-b": "old"}
		want, got := maps.Clone(start), maps.Clone(start)
		want.meant(actions)
		got.read(t, text)
		if !maps.Equal(want, got) {
			t.Errorf("%+v becomes %q, want %q", actions, got, want)
		}
		if got["cookie"] != "kept" {
			t.Errorf("%+v changes a header that is the router's own", actions)
		}
	})
}
