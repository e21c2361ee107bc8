// Package sessionkeys reads the keys of sessions from the Secret that the operator makes,
// as it is mounted into the router's pod.
package sessionkeys

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fairlead/fairlead/router/agent/session"
	"github.com/fairlead/fairlead/router/agent/snapshot"
)

// lookEvery is how often the folder is read again.
const lookEvery = 5 * time.Second

// Folder is where the Secret is mounted. An empty Dir has no keys.
type Folder struct {
	Dir string
	Log *slog.Logger

	mu        sync.Mutex
	read      time.Time
	keys      []snapshot.SessionKey
	complaint string
}

// Keys returns the keys, the oldest first. While the folder cannot be read, they are those
// of before; none if it does not exist.
func (f *Folder) Keys() []snapshot.SessionKey {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Dir == "" || !f.read.IsZero() && time.Since(f.read) < lookEvery {
		return f.keys
	}
	f.read = time.Now()
	keys, err := read(f.Dir)
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != f.complaint {
		f.complaint = text
		if err != nil {
			f.Log.Error("cannot read the keys of sessions; logins by OpenID Connect get 503 if there are none", "dir", f.Dir, "err", err)
		}
	}
	if err == nil || errors.Is(err, os.ErrNotExist) {
		f.keys = keys
	}
	return f.keys
}

func read(dir string) ([]snapshot.SessionKey, error) {
	entries, err := os.ReadDir(dir) // sorted by name, which is by time
	if err != nil {
		return nil, fmt.Errorf("read the keys of sessions: %w", err)
	}
	var keys []snapshot.SessionKey
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") { // links of the kubelet
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("read the keys of sessions: %w", err)
		}
		k, err := session.Read(e.Name(), content)
		if err != nil {
			return nil, err
		}
		keys = append(keys, snapshot.SessionKey{Made: k.Made.Unix(), Secret: k.Secret})
	}
	if len(keys) > session.MaxKeys {
		keys = keys[len(keys)-session.MaxKeys:]
	}
	return keys, nil
}
