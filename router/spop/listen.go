package spop

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// Listen makes a socket that takes the place of an earlier one without a moment
// without either.
func Listen(dir, name string) (*net.UnixListener, error) {
	path := filepath.Join(dir, name)
	fresh := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("make the socket %s: %w", name, err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: fresh})
	if err != nil {
		return nil, fmt.Errorf("make the socket %s: %w", name, err)
	}
	l.SetUnlinkOnClose(false) // the name may be another process's by then
	if err := errors.Join(os.Chmod(fresh, 0o660), os.Rename(fresh, path)); err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("make the socket %s: %w", name, err)
	}
	return l, nil
}
