package main

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxBytes bounds /bytes/N.
const maxBytes = 1 << 30

// app answers requests with its name.
type app struct {
	name, version, pod, node string
}

// answer is the JSON of /.
type answer struct {
	App      string      `json:"app"`
	Version  string      `json:"version"`
	Pod      string      `json:"pod"`
	Node     string      `json:"node,omitempty"`
	Method   string      `json:"method"`
	Host     string      `json:"host"`
	Path     string      `json:"path"`
	Query    string      `json:"query,omitempty"`
	Protocol string      `json:"protocol"`
	TLS      string      `json:"tls,omitempty"`
	SNI      string      `json:"sni,omitempty"`
	Client   string      `json:"client"`
	Headers  http.Header `json:"headers"`
}

// ServeHTTP routes by the last segments of the path, so that it works below any path of a Route.
func (a *app) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-App", a.name)
	w.Header().Set("X-Version", a.version)
	w.Header().Set("X-Pod", a.pod)
	segments := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	last := segments[len(segments)-1]
	if len(segments) > 1 {
		switch segments[len(segments)-2] {
		case "status":
			a.status(w, last)
			return
		case "bytes":
			a.bytes(w, last)
			return
		}
	}
	switch last {
	case "healthz":
		fmt.Fprintln(w, "ok")
	case "text":
		fmt.Fprintln(w, a.name, a.version, a.pod)
	case "slow":
		a.slow(w, r)
	case "session":
		a.session(w, r)
	case "echo":
		_, _ = io.Copy(w, r.Body) // a client that leaves is no fault
	case "tunnel":
		a.tunnel(w, r)
	default:
		a.tell(w, r)
	}
}

func (a *app) tell(w http.ResponseWriter, r *http.Request) {
	said := answer{
		App: a.name, Version: a.version, Pod: a.pod, Node: a.node, Method: r.Method, Host: r.Host, Path: r.URL.Path,
		Query: r.URL.RawQuery, Protocol: r.Proto, Client: r.RemoteAddr, Headers: r.Header,
	}
	if r.TLS != nil {
		said.TLS, said.SNI = tls.VersionName(r.TLS.Version), r.TLS.ServerName
	}
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	if r.URL.Query().Has("pretty") {
		encoder.SetIndent("", "  ")
	}
	_ = encoder.Encode(said) // fails only when the client left
}

// session is an auth server that knows its users by a cookie: its value is the user's name.
func (a *app) session(w http.ResponseWriter, r *http.Request) {
	cookie, err := r.Cookie("session")
	if err != nil || cookie.Value == "" {
		http.Error(w, "no session", http.StatusUnauthorized)
		return
	}
	w.Header().Set("X-User", cookie.Value)
}

func (a *app) slow(w http.ResponseWriter, r *http.Request) {
	ms, err := strconv.Atoi(r.URL.Query().Get("ms"))
	if err != nil || ms < 0 {
		http.Error(w, "slow?ms=N wants a number", http.StatusBadRequest)
		return
	}
	select {
	case <-time.After(time.Duration(ms) * time.Millisecond):
		fmt.Fprintln(w, a.name, a.version, a.pod, "after", ms, "ms")
	case <-r.Context().Done():
	}
}

func (a *app) status(w http.ResponseWriter, text string) {
	code, err := strconv.Atoi(text)
	if err != nil || code < 200 || code > 599 {
		http.Error(w, "status/N wants 200 to 599", http.StatusBadRequest)
		return
	}
	w.WriteHeader(code)
}

func (a *app) bytes(w http.ResponseWriter, text string) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > maxBytes {
		http.Error(w, "bytes/N wants a number", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Length", text)
	chunk := []byte(strings.Repeat("fairlead", 4096))
	for n > 0 {
		k, err := w.Write(chunk[:min(n, len(chunk))])
		if err != nil {
			return
		}
		n -= k
	}
}

// tunnel agrees to any Upgrade and then returns every byte, like the far end of a websocket.
func (a *app) tunnel(w http.ResponseWriter, r *http.Request) {
	protocol := r.Header.Get("Upgrade")
	hijacker, ok := w.(http.Hijacker)
	if protocol == "" || !ok {
		http.Error(w, "tunnel wants an Upgrade over HTTP/1.1", http.StatusUpgradeRequired)
		return
	}
	conn, buffered, err := hijacker.Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	fmt.Fprintf(buffered, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\nX-Pod: %s\r\n\r\n", protocol, a.pod)
	if buffered.Flush() != nil {
		return
	}
	_, _ = io.Copy(conn, buffered) // ends with the client
}
