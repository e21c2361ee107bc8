package haproxy

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/render"
)

// maxSocketPath is the length that the kernel allows for a socket's path (108)
// less the suffix that HAProxy adds while it replaces one.
const maxSocketPath = 90

// Files are what a HAProxy process starts from.
type Files struct {
	layout render.Layout
	caps   plan.Capabilities
	// written are the certificates that this process has written or compared.
	written map[string]struct{}
	// lists are those that this process has written: most ports have the same one for
	// hours.
	lists   map[string]string
	journal journal
	// mark is that of the last Write.
	mark string
}

// markName is the variable of a process that has the mark of its files.
const markName = "FAIRLEAD_FILES"

// MakeRunDir creates the directory of the sockets.
func MakeRunDir(l render.Layout) error {
	if n := len(l.RunDir() + "/master.sock"); n > maxSocketPath {
		return fmt.Errorf("directory %s: the path of its sockets has %d characters and %d are possible; choose a shorter one with --work-dir or --run-dir", l.RunDir(), n, maxSocketPath)
	}
	if err := os.MkdirAll(l.RunDir(), 0o700); err != nil {
		return fmt.Errorf("create the directory of the sockets: %w", err)
	}
	return nil
}

// NewFiles creates the work directory, and that of the sockets.
func NewFiles(l render.Layout, caps plan.Capabilities) (*Files, error) {
	if err := MakeRunDir(l); err != nil {
		return nil, err
	}
	for _, dir := range []string{l.MapsDir(), l.PagesDir(), l.CertsDir(), l.SlotsDir()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("create the work directory: %w", err)
		}
	}
	return &Files{layout: l, caps: caps, written: map[string]struct{}{}, lists: map[string]string{}, journal: journal{layout: l}}, nil
}

// Remove removes the work directory.
func (f *Files) Remove() error {
	if err := os.RemoveAll(f.layout.Dir); err != nil {
		return fmt.Errorf("remove %s: %w", f.layout.Dir, err)
	}
	return nil
}

// Mark returns the mark of the files which the last Write wrote.
func (f *Files) Mark() string { return f.mark }

// Write makes the files say what the state says. Each file is replaced whole,
// the configuration last, so a process that starts meanwhile finds nothing torn. The
// configuration has a mark that none had before, which a process shows that starts from it.
func (f *Files) Write(base render.Base, st *plan.State) error {
	l := f.layout
	f.mark = rand.Text()
	if err := f.writeCertificates(st); err != nil {
		return err
	}
	for _, m := range plan.Maps() {
		if err := replace(l.MapFile(m), func(w io.Writer) error { return render.MapFile(w, st, m) }); err != nil {
			return err
		}
	}
	for path, text := range base.Files {
		if err := replaceText(path, text); err != nil {
			return err
		}
	}
	if err := f.writeSlotLists(st, base.Slots); err != nil {
		return err
	}
	files := []struct {
		path  string
		write func(io.Writer) error
	}{
		{l.CrtList(), func(w io.Writer) error { return render.CrtList(w, st, l) }},
		{l.ClientList(), func(w io.Writer) error { return render.ClientList(w, st, l) }},
		{l.Config(), func(w io.Writer) error {
			if _, err := fmt.Fprintf(w, "%[1]s\n# Which file a process has started from: show env %[2]s\nglobal\n  setenv %[2]s %[3]s\n", base.Text, markName, f.mark); err != nil {
				return err
			}
			return render.Backends(w, st, l, f.caps)
		}},
	}
	for _, file := range files {
		if err := replace(file.path, file.write); err != nil {
			return err
		}
	}
	if err := f.journal.written(); err != nil {
		return err
	}
	return f.removeOldCertificates(st)
}

// writeCertificates writes those that this process has not written yet: a name
// stands for its content. What another process left behind counts only if it is
// the same.
func (f *Files) writeCertificates(st *plan.State) error {
	write := func(path, pem string, step plan.Step) error {
		if filepath.Dir(path) != f.layout.CertsDir() {
			return &render.UnsafeError{Step: step, Err: fmt.Errorf("%q is not the name of a file", filepath.Base(path))}
		}
		info, err := os.Lstat(path)
		if _, ours := f.written[path]; ours && err == nil && path != f.layout.CertFile(plan.DefaultCertID) {
			return nil
		}
		if err := render.CheckPEM(pem); err != nil {
			return &render.UnsafeError{Step: step, Err: err}
		}
		if err == nil && holds(path, info, pem) {
			f.written[path] = struct{}{}
			return nil
		}
		err = replaceText(path, pem)
		if err == nil {
			f.written[path] = struct{}{}
		}
		return err
	}
	for id, pem := range st.Certs {
		if err := write(f.layout.CertFile(id), pem, plan.CertPut{ID: id}); err != nil {
			return err
		}
	}
	for id, pem := range st.CAs {
		if err := write(f.layout.CAFile(id), pem, plan.CAPut{ID: id}); err != nil {
			return err
		}
	}
	return nil
}

// writeSlotLists writes the lists of certificates of the ports for Gateways, before the
// configuration that names them.
func (f *Files) writeSlotLists(st *plan.State, slots []render.Slots) error {
	lists, err := render.SlotLists(st, f.layout, slots)
	if err != nil {
		return err
	}
	for path, text := range lists {
		if f.lists[path] == text {
			continue
		}
		if err := replaceText(path, text); err != nil {
			return err
		}
		f.lists[path] = text
	}
	return nil
}

// holds reports whether a file is a plain one with a text.
func holds(path string, info fs.FileInfo, text string) bool {
	if !info.Mode().IsRegular() || info.Size() != int64(len(text)) {
		return false
	}
	have, err := os.ReadFile(path)
	return err == nil && string(have) == text
}

func (f *Files) removeOldCertificates(st *plan.State) error {
	entries, err := os.ReadDir(f.layout.CertsDir())
	if err != nil {
		return fmt.Errorf("list certificates: %w", err)
	}
	for _, e := range entries {
		path := filepath.Join(f.layout.CertsDir(), e.Name())
		id, isCert := f.layout.CertID(path)
		caID, isCA := f.layout.CAID(path)
		_, usedCert := st.Certs[id]
		_, usedCA := st.CAs[caID]
		if isCert && usedCert || isCA && usedCA {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("remove an old certificate: %w", err)
		}
		delete(f.written, path)
	}
	return nil
}

// buffers are for one file after the other: there are dozens.
var buffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 64<<10) }}

// replace writes a file beside its place and renames it.
func replace(path string, write func(io.Writer) error) error {
	return replaceFile(path, func(tmp *os.File) error {
		w := buffers.Get().(*bufio.Writer) //nolint:forcetypeassert // of New
		defer buffers.Put(w)
		w.Reset(tmp)
		if err := write(w); err != nil {
			return err
		}
		return w.Flush()
	})
}

// replaceText is replace for a text that is there already.
func replaceText(path, text string) error {
	return replaceFile(path, func(tmp *os.File) error {
		_, err := tmp.WriteString(text)
		return err
	})
}

func replaceFile(path string, write func(*os.File) error) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	err = write(tmp)
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
