package archive

import (
	"archive/tar"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// passwd names the users that programs may look up.
const passwd = `root:x:0:0:root:/:/sbin/nologin
nonroot:x:65532:65532:nonroot:/:/sbin/nologin
nobody:x:65534:65534:nobody:/:/sbin/nologin
`

const group = `root:x:0:
nonroot:x:65532:
nogroup:x:65534:
`

// layerWriter writes a tar whose bytes depend on the content only: no times, no owners. It keeps the first error.
type layerWriter struct {
	tar *tar.Writer
	err error
}

func newLayerWriter(out io.Writer) *layerWriter { return &layerWriter{tar: tar.NewWriter(out)} }

func (l *layerWriter) close() error {
	if l.err != nil {
		return fmt.Errorf("pack a layer: %w", l.err)
	}
	if err := l.tar.Close(); err != nil {
		return fmt.Errorf("pack a layer: %w", err)
	}
	return nil
}

func (l *layerWriter) header(h *tar.Header) {
	if l.err == nil {
		l.err = l.tar.WriteHeader(h)
	}
}

func (l *layerWriter) dir(name string, mode fs.FileMode) {
	m := int64(mode.Perm())
	if mode&fs.ModeSticky != 0 {
		m |= 0o1000
	}
	l.header(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: m})
}

func (l *layerWriter) file(name string, content []byte) {
	l.header(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content))})
	if l.err == nil {
		_, l.err = l.tar.Write(content)
	}
}

func (l *layerWriter) copy(name, source string, mode fs.FileMode) {
	l.content(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: int64(mode.Perm())}, source)
}

// content writes the header with the content of a file.
func (l *layerWriter) content(h *tar.Header, source string) {
	content, err := os.ReadFile(source)
	if err != nil {
		if l.err == nil {
			l.err = err
		}
		return
	}
	h.Size = int64(len(content))
	l.header(h)
	if l.err == nil {
		_, l.err = l.tar.Write(content)
	}
}

// base writes what every image has, and its program.
func (l *layerWriter) base(img image, programs []string) {
	for _, dir := range []string{"etc", "etc/ssl", "etc/ssl/certs", "usr", "usr/bin", "var", "var/lib", "var/lib/haproxy", "run"} {
		l.dir(dir, 0o755)
	}
	l.dir("tmp", 0o777|fs.ModeSticky)
	l.file("etc/passwd", []byte(passwd))
	l.file("etc/group", []byte(group))
	// Cloud APIs are called over TLS; the machine's own bundle is the one that is kept up to date.
	const bundle = "/etc/ssl/certs/ca-certificates.crt"
	if _, err := os.Stat(bundle); err == nil {
		l.copy("etc/ssl/certs/ca-certificates.crt", bundle, 0o644)
	}
	for i, program := range programs {
		if i == 0 {
			l.program("usr/bin/"+img.name, program, img.caps)
		} else {
			l.program("usr/bin/"+filepath.Base(program), program, capabilities{})
		}
	}
}

// program copies the program and lets it hold capabilities.
func (l *layerWriter) program(name, source string, caps capabilities) {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755}
	if caps.permitted != 0 {
		h.PAXRecords = map[string]string{capabilityRecord: caps.attribute()}
	}
	l.content(h, source)
}
