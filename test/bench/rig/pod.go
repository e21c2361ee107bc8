package rig

import (
	"bufio"
	"crypto/sha1"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"time"
)

// PodHost is the name in the certificate of the pods' TLS port.
const PodHost = "pod." + Domain

// pods are the servers of all pod addresses: plain and TLS.
type pods []*http.Server

// startPods serves on PodPort and, with a certificate of the authority for
// PodHost, HTTP/1.1 and HTTP/2 on PodTLSPort.
func startPods(ca *Authority) (pods, error) {
	cert, key, _, err := ca.Issue(PodHost)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	if err != nil {
		return nil, fmt.Errorf("start the pods: %w", err)
	}
	var started pods
	for _, port := range []int{PodPort, PodTLSPort} {
		listener, err := net.Listen("tcp", fmt.Sprintf("0.0.0.0:%d", port))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("start the pods: %w", err), started.close())
		}
		s := &http.Server{
			Handler: http.HandlerFunc(answer), ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0),
			TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}},
		}
		started = append(started, s)
		if port == PodTLSPort {
			go func() { _ = s.ServeTLS(listener, "", "") }() // ends with close
		} else {
			go func() { _ = s.Serve(listener) }() // ends with close
		}
	}
	return started, nil
}

// StartPods serves on a further port of all pod addresses until the server is closed: then
// connections to it are refused.
func StartPods(port int) (*http.Server, error) {
	listener, err := net.Listen("tcp", fmt.Sprintf("0.0.0.0:%d", port))
	if err != nil {
		return nil, fmt.Errorf("start pods: %w", err)
	}
	s := &http.Server{Handler: http.HandlerFunc(answer), ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = s.Serve(listener) }() // ends with Close
	return s, nil
}

func (p pods) close() error {
	var errs []error
	for _, s := range p {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// answer tells which address was asked. Below any path, /tunnel agrees to an
// Upgrade and /stream to a stream; both return what they get.
func answer(w http.ResponseWriter, req *http.Request) {
	switch {
	case strings.HasSuffix(req.URL.Path, "/tunnel"):
		tunnel(w, req)
		return
	case strings.HasSuffix(req.URL.Path, "/stream"):
		stream(w, req)
		return
	}
	local, ok := req.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		http.Error(w, "no local address", http.StatusInternalServerError)
		return
	}
	w.Header().Set("X-Path", req.URL.Path)
	_, _ = w.Write([]byte(local.IP.String())) // fails only when the client left
}

// tunnel upgrades as RFC 6455 wants it, which HAProxy checks.
func tunnel(w http.ResponseWriter, req *http.Request) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		http.Error(w, "a tunnel needs HTTP/1.1", http.StatusUpgradeRequired)
		return
	}
	conn, both, err := hijacker.Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	sum := sha1.Sum([]byte(req.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	_, _ = fmt.Fprintf(both, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: %s\r\n\r\n",
		base64.StdEncoding.EncodeToString(sum[:])) // the flush tells of failures
	if both.Flush() == nil {
		_, _ = io.Copy(conn, both) // ends with the client
	}
}

func stream(w http.ResponseWriter, req *http.Request) {
	c := http.NewResponseController(w)
	_ = c.EnableFullDuplex() // HTTP/2 is, and says that it does not know this
	w.WriteHeader(http.StatusOK)
	lines := bufio.NewReader(req.Body)
	for c.Flush() == nil {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		_, _ = io.WriteString(w, line) // the flush tells of failures
	}
}
