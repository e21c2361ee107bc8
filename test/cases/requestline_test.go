package cases

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/router/match"
)

// expectation is a line of "requests" or "shares": a request and what comes
// back.
type expectation struct {
	line    string
	request request
	times   int    // for shares
	with    string // name of the saved cookie to send
	closed  bool
	status  int
	// want are the words after the status, as key and value.
	want [][2]string
}

// parseLine reads "GET http://h.test/foo h:X-A=1 -> 200 pod=web-1".
func parseLine(line string) (*expectation, error) {
	words, err := split(line)
	if err != nil {
		return nil, err
	}
	arrow := slices.Index(words, "->")
	if arrow < 2 || arrow == len(words)-1 {
		return nil, fmt.Errorf("want METHOD URL … -> STATUS …: %s", line)
	}
	e := &expectation{line: line, times: 1}
	if err := e.readRequest(words[:arrow]); err != nil {
		return nil, fmt.Errorf("%w: %s", err, line)
	}
	rest := words[arrow+1:]
	if e.closed = rest[0] == "closed"; e.closed {
		rest = rest[1:]
	} else if n, err := strconv.Atoi(rest[0]); err == nil {
		e.status, rest = n, rest[1:]
	}
	for _, w := range rest {
		i := strings.IndexAny(w, "=~")
		if i < 0 {
			i = len(w)
			w += "="
		}
		e.want = append(e.want, [2]string{w[:i], w[i+1:]})
	}
	return e, nil
}

func (e *expectation) readRequest(words []string) error {
	r := &e.request
	r.method = words[0]
	scheme, rest, ok := strings.Cut(words[1], "://")
	if !ok || scheme != "http" && scheme != "https" {
		return fmt.Errorf("want a URL, not %q", words[1])
	}
	r.tls = scheme == "https"
	r.host, r.target = rest, "/"
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		r.host, r.target = rest[:i], rest[i:]
	}
	r.sni = match.Host(r.host)
	for _, w := range words[2:] {
		key, value, _ := strings.Cut(w, "=")
		switch {
		case key == "sni":
			r.sni = value
		case key == "host":
			r.host = value
		case key == "target":
			r.target = value
		case key == "as":
			r.cert = value
		case key == "ws":
			r.ws = true
		case key == "with":
			e.with = value
		case key == "body", key == "untold":
			var err error
			if r.body, err = strconv.Atoi(value); err != nil {
				return fmt.Errorf("unknown word %q", w)
			}
			r.untold = key == "untold"
		case key == "alpn":
			r.alpn = strings.Split(value, ",")
		case strings.HasPrefix(key, "h:"):
			r.header = append(r.header, key[2:]+": "+value)
		case strings.HasPrefix(key, "x"):
			n, err := strconv.Atoi(key[1:])
			if err != nil {
				return fmt.Errorf("unknown word %q", w)
			}
			e.times = n
		default:
			return fmt.Errorf("unknown word %q", w)
		}
	}
	return nil
}

// split splits at blanks outside double quotes, which begin a word's value
// ("h:X=\"a b\"") and end it. Quotes elsewhere are themselves.
func split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	quoted, some := false, false
	last := ' '
	for _, r := range line {
		before := last
		last = r
		switch {
		case r == '"' && (quoted || before == '=' || before == '~' || before == ' '):
			quoted, some = !quoted, true
		case r == ' ' && !quoted:
			if some {
				words = append(words, word.String())
			}
			word.Reset()
			some = false
		default:
			word.WriteRune(r)
			some = true
		}
	}
	if quoted {
		return nil, fmt.Errorf("unclosed quote: %s", line)
	}
	if some {
		words = append(words, word.String())
	}
	return words, nil
}

var uuid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// saved is a cookie that a line saved, and the pod that set it.
type saved struct{ cookie, pod string }

// check compares a response with the words of the line. The pod's name is
// given by the caller, who knows the servers.
func (e *expectation) check(r response, pod string, jar map[string]saved) error {
	if e.closed {
		if r.err == nil {
			return fmt.Errorf("answered %d instead of closing the connection", r.status)
		}
		return nil
	}
	if r.err != nil {
		return fmt.Errorf("no answer: %w", r.err)
	}
	if e.status != 0 && r.status != e.status {
		return fmt.Errorf("status %d (pod %q, body %.200q)", r.status, pod, r.body)
	}
	for _, w := range e.want {
		if err := e.word(w[0], w[1], r, pod, jar); err != nil {
			return err
		}
	}
	return nil
}

func (e *expectation) word(key, want string, r response, pod string, jar map[string]saved) error {
	seen := r.pod
	if seen == nil {
		seen = &answer{}
	}
	key, name, _ := strings.Cut(key, ":")
	var got string
	switch key {
	case "pod":
		if !slices.Contains(strings.Split(want, "|"), pod) {
			return fmt.Errorf("pod %q answered, want %s", pod, want)
		}
		return nil
	case "save":
		if len(r.cookies) != 1 {
			return fmt.Errorf("cookies %v, want one", r.cookies)
		}
		jar[want] = saved{r.cookies[0].Name + "=" + r.cookies[0].Value, pod}
		return nil
	case "samepod":
		got, want = pod, jar[want].pod
	case "cookiename":
		for _, c := range r.cookies {
			got += c.Name
		}
	case "cookie": // cookie~TEXT: the whole Set-Cookie header holds it
		if all := strings.Join(r.header.Values("Set-Cookie"), "\n"); !strings.Contains(all, want) {
			return fmt.Errorf("Set-Cookie %q lacks %q", all, want)
		}
		return nil
	case "cookielacks":
		if all := strings.Join(r.header.Values("Set-Cookie"), "\n"); strings.Contains(all, want) {
			return fmt.Errorf("Set-Cookie %q has %q", all, want)
		}
		return nil
	case "nocookie":
		got = strings.Join(r.header.Values("Set-Cookie"), "\n")
	case "path":
		got = seen.Path
	case "host":
		got = seen.Host
	case "proto":
		got = seen.Proto
	case "sni":
		got = seen.SNI
	case "client":
		got = seen.Client
	case "proxy":
		got = seen.Proxy
	case "method":
		got = seen.Method
	case "cert":
		got = r.cert
	case "location":
		got = r.header.Get("Location")
	case "resp":
		got = strings.Join(r.header.Values(name), ", ")
	case "seen":
		got = strings.Join(seen.Header.Values(name), ", ")
	case "id": // id:NAME= the pod saw one header with a UUID
		if got := seen.Header.Values(name); len(got) != 1 || !uuid.MatchString(got[0]) {
			return fmt.Errorf("header %s is %q, want a UUID", name, got)
		}
		return nil
	case "body": // \n is the end of a line
		want = strings.ReplaceAll(want, `\n`, "\n")
		if !strings.Contains(r.body, want) {
			return fmt.Errorf("body %.300q lacks %q", r.body, want)
		}
		return nil
	default:
		return fmt.Errorf("unknown word %q", key)
	}
	if got != want {
		return fmt.Errorf("%s %s is %q, want %q", key, name, got, want)
	}
	return nil
}

// usesCookies reports whether the line depends on earlier ones, or later ones
// on it.
func (e *expectation) usesCookies() bool {
	return e.with != "" || slices.ContainsFunc(e.want, func(w [2]string) bool { return w[0] == "save" || w[0] == "samepod" })
}
