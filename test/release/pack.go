package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"time"
)

// packer writes an archive whose bytes depend on names, contents and the release's time only.
type packer struct {
	tar  *tar.Writer
	time time.Time
}

// pack writes an archive of what fill gives it.
func (r *release) pack(name string, fill func(*packer) error) error {
	var packed bytes.Buffer
	zip, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return fmt.Errorf("pack %s: %w", name, err)
	}
	w := &packer{tar: tar.NewWriter(zip), time: r.time}
	if err := fill(w); err != nil {
		return fmt.Errorf("pack %s: %w", name, err)
	}
	if err := w.tar.Close(); err != nil {
		return fmt.Errorf("pack %s: %w", name, err)
	}
	if err := zip.Close(); err != nil {
		return fmt.Errorf("pack %s: %w", name, err)
	}
	return r.file(name, packed.Bytes())
}

func (w *packer) copy(name, source string, mode int64) error {
	content, err := os.ReadFile(source)
	if err != nil {
		return fmt.Errorf("read a part: %w", err)
	}
	return w.write(name, content, mode)
}

func (w *packer) write(name string, content []byte, mode int64) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(content)), ModTime: w.time, Format: tar.FormatUSTAR}
	if err := w.tar.WriteHeader(header); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if _, err := w.tar.Write(content); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
