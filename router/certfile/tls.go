package certfile

import (
	"crypto/tls"
	"fmt"
	"sync"

	"github.com/fairlead/fairlead/router/model"
)

// TLS returns what a server of our own asks for its certificate: the one in
// path, read again for each connection, else the last good one. Without a path
// it is always the first.
func TLS(path string, first *model.Certificate) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	var mu sync.Mutex
	last := first
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		mu.Lock()
		defer mu.Unlock()
		if path != "" {
			if c, err := Load(path); err == nil {
				last = c
			}
		}
		pair, err := tls.X509KeyPair([]byte(last.PEM), []byte(last.PEM))
		if err != nil {
			return nil, fmt.Errorf("use the default certificate: %w", err)
		}
		return &pair, nil
	}
}
