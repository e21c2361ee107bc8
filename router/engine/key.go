package engine

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"log/slog"

	"github.com/fairlead/fairlead/router/statefile"
)

const (
	// keyFile keeps the key of the pod for the next router process, because a HAProxy
	// that goes on has it, too.
	keyFile  = "key"
	keyBytes = 32
)

// podKey returns the key that hashes of credentials are made with, in base64. It is made
// once for each pod, and never leaves it.
func podKey(state *statefile.Store, log *slog.Logger) string {
	key := make([]byte, keyBytes)
	if state.Read(keyFile, keyBytes, func(text []byte) error {
		if len(text) != keyBytes {
			return fmt.Errorf("it has %d bytes instead of %d", len(text), keyBytes)
		}
		copy(key, text)
		return nil
	}) {
		return base64.StdEncoding.EncodeToString(key)
	}
	_, _ = rand.Read(key) // it never fails
	if err := state.Write(keyFile, key); err != nil {
		log.Error("cannot keep the key of the pod; the next router process makes another one, and reloads HAProxy", "err", err)
	}
	return base64.StdEncoding.EncodeToString(key)
}
