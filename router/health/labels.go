package health

import (
	"bufio"
	"bytes"
	"io"
	"strings"

	"github.com/fairlead/fairlead/router/model"
)

// labelled adds, to the metrics of HAProxy's exporter, what its names stand for:
//
//	haproxy_backend_…{proxy="be_http:shop:web:1a2b"}    + backend="http",namespace="shop",route="web"
//	haproxy_backend_…{proxy="be_http:shop:web_canary_next:3c4d"}   …,route="web",canary="next"
//	haproxy_server_…{…,server="pod:web-1:web:http:…"}   + pod="web-1",service="web"
//
// Those are the labels of OpenShift's router. It reads and writes line by line,
// because there are very many.
type labelled struct {
	from *bufio.Reader
	body io.Closer
	rest []byte // of the line under way
	err  error
}

func addLabels(body io.ReadCloser) io.ReadCloser {
	return &labelled{from: bufio.NewReaderSize(body, 64<<10), body: body}
}

func (l *labelled) Close() error { return l.body.Close() }

func (l *labelled) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		if l.err != nil {
			return 0, l.err
		}
		line, err := l.from.ReadBytes('\n')
		l.rest, l.err = withLabels(line), err
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// kinds are the words of OpenShift's router for the kinds of backends.
var kinds = map[string]string{"be_http": "http", "be_edge_http": "https-edge", "be_secure": "https", "be_tcp": "tcp"}

// withLabels returns a line with its labels. The parts of names are those of
// Kubernetes objects, which need no quoting.
func withLabels(line []byte) []byte {
	if !bytes.HasPrefix(line, []byte("haproxy_backend_")) && !bytes.HasPrefix(line, []byte("haproxy_server_")) {
		return line
	}
	open := bytes.IndexByte(line, '{')
	proxy := strings.Split(labelOf(line, "proxy"), ":")
	kind, ours := kinds[proxy[0]]
	if open < 0 || !ours || len(proxy) < 3 {
		return line
	}
	route, canary, branch := model.SplitClaim(proxy[2])
	added := `backend="` + kind + `",namespace="` + proxy[1] + `",route="` + route + `",`
	if branch {
		added += `canary="` + canary + `",`
	}
	if server := strings.Split(labelOf(line, "server"), ":"); len(server) > 2 {
		switch server[0] {
		case "pod":
			added += `pod="` + server[1] + `",service="` + server[2] + `",`
		case "ept":
			added += `service="` + server[1] + `",`
		}
	}
	out := make([]byte, 0, len(line)+len(added))
	out = append(out, line[:open+1]...)
	out = append(out, added...)
	return append(out, line[open+1:]...)
}

// labelOf returns the value of a label, or nothing.
func labelOf(line []byte, name string) string {
	i := bytes.Index(line, []byte(name+`="`))
	if i < 1 || line[i-1] != '{' && line[i-1] != ',' {
		return ""
	}
	value, _, _ := bytes.Cut(line[i+len(name)+2:], []byte(`"`))
	return string(value)
}
