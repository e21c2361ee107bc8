package archive

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestProgramHoldsCapability reads the layer back: the attributes are what
// `setcap cap_net_bind_service+p` and `setcap cap_net_raw+ep` write.
func TestProgramHoldsCapability(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "program")
	beside := filepath.Join(t.TempDir(), "beside")
	for _, file := range []string{binary, beside} {
		if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name string
		caps capabilities
		want string
	}{
		{"none", capabilities{}, ""},
		{"NET_BIND_SERVICE, if the program asks", capabilities{permitted: 1 << netBindService}, "\x00\x00\x00\x02\x00\x04\x00\x00" + string(make([]byte, 12))},
		{"NET_RAW", capabilities{permitted: 1 << netRaw, effective: true}, "\x01\x00\x00\x02\x00\x20\x00\x00" + string(make([]byte, 12))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var packed bytes.Buffer
			w := newLayerWriter(&packed)
			w.base(image{name: "program", caps: tt.caps}, []string{binary, beside})
			if err := w.close(); err != nil {
				t.Fatal(err)
			}
			for r := tar.NewReader(&packed); ; {
				h, err := r.Next()
				if err != nil {
					t.Fatal(err)
				}
				if h.Name == "usr/bin/beside" && (h.PAXRecords[capabilityRecord] != "" || h.Mode != 0o755) {
					t.Errorf("the program beside it: attribute %q, mode %o", h.PAXRecords[capabilityRecord], h.Mode)
				}
				if h.Name != "usr/bin/program" {
					continue
				}
				if got := h.PAXRecords[capabilityRecord]; got != tt.want || h.Size != 4 || h.Mode != 0o755 {
					t.Errorf("attribute %q, size %d, mode %o, want attribute %q", got, h.Size, h.Mode, tt.want)
				}
				return
			}
		})
	}
}
