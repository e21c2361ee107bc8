package ingress

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Snippets are text of another proxy's configuration. They are never used. They
// are read for one question only: would requests pass without them that did not
// pass with them? Everything that is not known to be harmless counts as a yes.

// shaping are directives of nginx that only change requests and answers.
const shaping = `add_header add_trailer more_set_headers more_clear_headers more_set_input_headers more_clear_input_headers
	proxy_set_header proxy_hide_header proxy_pass_header proxy_ignore_headers
	client_max_body_size client_body_buffer_size client_body_timeout client_header_timeout send_timeout keepalive_timeout
	proxy_read_timeout proxy_send_timeout proxy_connect_timeout proxy_buffering proxy_request_buffering proxy_buffer_size proxy_buffers
	proxy_busy_buffers_size proxy_max_temp_file_size proxy_http_version proxy_cookie_domain proxy_cookie_path proxy_cookie_flags proxy_redirect
	proxy_next_upstream proxy_next_upstream_tries proxy_next_upstream_timeout proxy_intercept_errors proxy_ssl_server_name
	gzip gzip_types gzip_min_length gzip_comp_level gzip_vary gzip_proxied gzip_disable brotli brotli_types brotli_comp_level
	error_page expires etag charset default_type sub_filter sub_filter_once sub_filter_types sub_filter_last_modified
	access_log error_log log_not_found set break underscores_in_headers large_client_header_buffers client_header_buffer_size
	chunked_transfer_encoding tcp_nodelay sendfile aio http2_push_preload`

// ownVariable are what a condition may ask without asking who the client is.
var (
	variable    = regexp.MustCompile(`\$\{?[a-z_0-9]+`)
	ownVariable = regexp.MustCompile(`^\$\{?(scheme|host|http_host|server_port|https|http_x_forwarded_proto|http_x_forwarded_port)$`)
)

// nginxSnippet returns an error that names what keeps requests away in a
// snippet of nginx, or nil.
func nginxSnippet(text string) error {
	p := &snippetParser{rest: text}
	list, err := p.directives(0)
	if err != nil {
		return fmt.Errorf("the snippet cannot be read (%w), so it is not known what it keeps away", err)
	}
	return keepsAway(list, false)
}

// keepsAway judges directives; conditional ones depend on what a client sends.
func keepsAway(list []directive, conditional bool) error {
	for _, d := range list {
		name := d.words[0]
		var err error
		switch {
		case name == "if":
			err = keepsAway(d.block, conditional || !ownCondition(strings.Join(d.words[1:], " ")))
		case name == "location":
			err = keepsAway(d.block, conditional)
		case name == "return" && len(d.words) > 1 && !strings.HasPrefix(d.words[1], "4") && !strings.HasPrefix(d.words[1], "5") && !conditional:
		case name == "rewrite" && !conditional:
		case slices.Contains(strings.Fields(shaping), name):
		default:
			err = fmt.Errorf("the directive %q of the snippet may keep requests away", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ownCondition reports whether a condition is about the address that was asked,
// and not about who asks.
func ownCondition(text string) bool {
	names := variable.FindAllString(text, -1)
	return len(names) > 0 && !slices.ContainsFunc(names, func(v string) bool { return !ownVariable.MatchString(v) })
}

// directive is one of nginx, with its block if it has one.
type directive struct {
	words []string
	block []directive
}

// maxSnippetDepth bounds blocks in blocks.
const maxSnippetDepth = 20

type snippetParser struct{ rest string }

// directives reads up to the end of the block, or of the text at depth 0.
func (p *snippetParser) directives(depth int) ([]directive, error) {
	if depth > maxSnippetDepth {
		return nil, errors.New("too many blocks in blocks")
	}
	var list []directive
	var words []string
	for {
		word, end, err := p.token()
		switch {
		case err != nil:
			return nil, err
		case end == "":
			words = append(words, word)
		case end == "eof" && (depth > 0 || len(words) > 0), end == "}" && (depth == 0 || len(words) > 0):
			return nil, errors.New("a directive or a block has no end")
		case end == "eof", end == "}":
			return list, nil
		case end == "{" && len(words) == 0:
			return nil, errors.New("a block has no name")
		case end == "{":
			block, err := p.directives(depth + 1)
			if err != nil {
				return nil, err
			}
			list, words = append(list, directive{words, block}), nil
		case len(words) > 0: // ";"
			list, words = append(list, directive{words: words}), nil
		}
	}
}

const blanks = " \t\r\n\f\v\x00"

// token returns a word, or what ends a directive: ";", "{", "}" or "eof".
func (p *snippetParser) token() (word, end string, err error) {
	for {
		p.rest = strings.TrimLeft(p.rest, blanks)
		if !strings.HasPrefix(p.rest, "#") {
			break
		}
		_, p.rest, _ = strings.Cut(p.rest, "\n")
	}
	if p.rest == "" {
		return "", "eof", nil
	}
	first := p.rest[0]
	switch first {
	case ';', '{', '}':
		p.rest = p.rest[1:]
		return "", string(first), nil
	case '"', '\'':
		return p.quoted(first)
	}
	n := 0
	for n < len(p.rest) && !strings.ContainsRune(blanks+";{}", rune(p.rest[n])) {
		// ${name} and escaped characters are parts of a word.
		switch {
		case p.rest[n] == '\\':
			n++
		case strings.HasPrefix(p.rest[n:], "${"):
			n += max(strings.IndexByte(p.rest[n:], '}'), 1)
		case p.rest[n] == '"' && n > 0 && p.rest[n-1] == '(':
			return "", "", errors.New("a quote within a word")
		}
		n++
	}
	n = min(n, len(p.rest))
	word, p.rest = p.rest[:n], p.rest[n:]
	return word, "", nil
}

func (p *snippetParser) quoted(quote byte) (word, end string, err error) {
	for n := 1; n < len(p.rest); n++ {
		switch p.rest[n] {
		case '\\':
			n++
		case quote:
			word, p.rest = p.rest[1:n], p.rest[n+1:]
			return word, "", nil
		}
	}
	return "", "", errors.New("a quote has no end")
}

// Lines of HAProxy's configuration that only shape requests and answers.
var haproxyShaping = regexp.MustCompile(`^(#.*` +
	`|(timeout|retries|balance|hash-type|cookie|http-send-name-header|compression|fullconn|description|option|http-check|default-server|http-reuse|acl|log|log-format|stick-table|max-keep-alive-queue|unique-id-format|unique-id-header)(\s.*)?` +
	`|http-(request|response|after-response)\s+(set|add|del|replace)-(header|value|path|pathq|query|uri|method|var|status|log-level|nice|tos|mark)\b.*` +
	`|http-(request|response|after-response)\s+(set-var|set-var-fmt|unset-var|capture)\(?.*` +
	`|(http-request\s+)?redirect\s+scheme\s+https(\s.*)?)$`)

// haproxySnippet does the same for HAProxy.
func haproxySnippet(text string) error {
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if line = strings.TrimSpace(line); line != "" && !haproxyShaping.MatchString(line) {
			return fmt.Errorf("the line that begins with %q may keep requests away", strings.Join(firstTwo(line), " "))
		}
	}
	return nil
}

func firstTwo(line string) []string {
	words := strings.Fields(line)
	return words[:min(len(words), 2)]
}
