package dialcheck

import (
	"errors"
	"testing"
)

func TestNoMetadata(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]error{
		"198.18.0.1:80": nil, "[2001:db8::1]:80": nil,
		"169.254.169.254:80": ErrMetadata, "[::ffff:169.254.169.254]:80": ErrMetadata, "[64:ff9b::a9fe:a9fe]:80": ErrMetadata, "100.100.100.200:80": ErrMetadata, "[fe80::1%lo]:80": ErrMetadata,
		"example.com:80": ErrUnread, "": ErrUnread,
	} {
		if err := NoMetadata("tcp", address, nil); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", address, err, want)
		}
	}
}
