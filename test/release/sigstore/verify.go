package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/verify"
)

// verify checks each file of the folder: by its signature, and by the sum in the signed provenance, which has to name all of them.
func (d dist) verify(t trust, out io.Writer) error {
	sums, err := d.provenance(t)
	if err != nil {
		return err
	}
	names, err := d.files()
	if err != nil {
		return err
	}
	var wrong []error
	here := map[string]bool{}
	for _, name := range names {
		here[name] = true
		if name == "provenance.json" {
			continue // its content is that of the bundle
		}
		if err := d.verifyFile(t, name, sums[name]); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", name, err))
		}
	}
	for _, name := range d.images {
		err := d.verifyImage(t, name, sums)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("the image of %s: %w", name, err))
		}
		here[d.registry+"/"+name] = true
	}
	for name := range sums {
		if !here[name] {
			wrong = append(wrong, fmt.Errorf("%s: the provenance names it, and it is not there", name))
		}
	}
	if len(wrong) > 0 {
		return errors.Join(wrong...)
	}
	fmt.Fprintf(out, "%d files and %d images of %s: signatures, sums, provenance and bills of materials are good\n", len(names), len(d.images), d.version)
	return nil
}

// provenance returns the sums that the signed provenance names.
func (d dist) provenance(t trust) (map[string]string, error) {
	list, err := os.ReadFile(d.path("SHA256SUMS"))
	if err != nil {
		return nil, fmt.Errorf("read the sums: %w", err)
	}
	text, err := os.ReadFile(d.path("provenance" + bundleEnd))
	if err != nil {
		return nil, fmt.Errorf("read the provenance: %w", err)
	}
	said, err := t.attested(text, sumOf(list))
	if err != nil {
		return nil, fmt.Errorf("provenance%s: %w", bundleEnd, err)
	}
	if err := said.judge(d.version); err != nil {
		return nil, err
	}
	plain, err := os.ReadFile(d.path("provenance.json"))
	if err != nil {
		return nil, fmt.Errorf("read the provenance: %w", err)
	}
	if read, err := readStatement(plain); err != nil || !same(read.Predicate, said.Predicate) || len(read.Subject) != len(said.Subject) {
		return nil, errors.New("provenance.json: it says something else than the signed provenance")
	}
	return said.sums(), nil
}

func (d dist) verifyFile(t trust, name, sum string) error {
	content, err := os.ReadFile(d.path(name))
	if err != nil {
		return fmt.Errorf("read it: %w", err)
	}
	if sum == "" {
		return errors.New("the provenance does not name it")
	}
	if got := sumOf(content); got != sum {
		return fmt.Errorf("its sum is %s, and the provenance says %s", got, sum)
	}
	b, err := bundle.LoadJSONFromPath(d.path(name + bundleEnd))
	if err != nil {
		return fmt.Errorf("read its bundle: %w", err)
	}
	return t.signedBy(b, verify.WithArtifact(bytes.NewReader(content)))
}

// verifyImage checks what is attested of an image in the folder.
func (d dist) verifyImage(t trust, name string, sums map[string]string) error {
	image, err := d.read(name)
	if err != nil {
		return err
	}
	if got := sums[d.registry+"/"+name]; got != image.index.Digest.Hex {
		return fmt.Errorf("its digest is %s, and the provenance says %q", image.index.Digest.Hex, got)
	}
	for _, a := range image.attestations {
		text, err := os.ReadFile(d.path(a.file))
		if err != nil {
			return fmt.Errorf("read an attestation: %w", err)
		}
		said, err := t.attested(text, a.sum)
		if err != nil {
			return fmt.Errorf("%s: %w", a.file, err)
		}
		if err := d.says(said, a); err != nil {
			return fmt.Errorf("%s: %w", a.file, err)
		}
	}
	return nil
}

// says fails unless a statement is of the kind that is asked for, and has the content of the file that it was made of.
func (d dist) says(said statement, a attestation) error {
	if said.PredicateType != a.kind {
		return fmt.Errorf("it is a %q, want %q", said.PredicateType, a.kind)
	}
	if a.kind == kindProvenance || a.from == "" {
		return nil // its sums were compared
	}
	want, err := os.ReadFile(d.path(a.from))
	if err != nil {
		return fmt.Errorf("read a bill of materials: %w", err)
	}
	if !same(want, said.Predicate) {
		return fmt.Errorf("it says something else than %s", a.from)
	}
	return nil
}
