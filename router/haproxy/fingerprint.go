package haproxy

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // what HAProxy tells of a certificate; nobody is trusted for it
	"encoding/base64"
	"io"
	"strings"

	"github.com/fairlead/fairlead/router/plan"
)

// stored is a kind of what HAProxy holds under names that stand for a content.
type stored struct {
	command string
	texts   func(*plan.State) map[string]string
	id      func(file string) (string, bool)
	file    func(id string) string
	// whole is true if every certificate of a text counts, and not only the
	// first one, of which alone HAProxy tells the fingerprint.
	whole bool
}

func (r *Runtime) stored() [2]stored {
	return [2]stored{
		{"show ssl cert", func(s *plan.State) map[string]string { return s.Certs }, r.layout.CertID, r.layout.CertFile, false},
		{"show ssl ca-file", func(s *plan.State) map[string]string { return s.CAs }, r.layout.CAID, r.layout.CAFile, true},
	}
}

// fingerprints asks HAProxy for those of all certificates and CA bundles whose
// text a state knows, as lines of its answers tell them: 20 µs of its thread for
// each (3.4.7).
func (r *Runtime) fingerprints(st *plan.State, each func(of stored, file, print []byte)) error {
	for _, of := range r.stored() {
		var ask strings.Builder
		flush := func() error {
			if ask.Len() == 0 {
				return nil
			}
			defer ask.Reset()
			var file []byte
			return r.answer(ask.String(), func(from io.Reader) error {
				return r.eachBytes(from, func(l []byte) {
					if name, ok := bytes.CutPrefix(l, []byte("Filename: ")); ok {
						file = append(file[:0], name...)
					} else if sum, ok := bytes.CutPrefix(l, []byte("SHA1 FingerPrint: ")); ok {
						each(of, file, sum)
					}
				})
			})
		}
		for id, text := range of.texts(st) {
			if text == "" || text == plan.Altered {
				continue
			}
			if ask.Len() > maxLine {
				if err := flush(); err != nil {
					return err
				}
			}
			if ask.Len() > 0 {
				ask.WriteByte(';')
			}
			ask.WriteString(of.command + " " + of.file(id))
		}
		if err := flush(); err != nil {
			return err
		}
	}
	return nil
}

// printer makes fingerprints of texts. It keeps its buffers.
type printer struct{ der, text, out []byte }

// prints calls each with the fingerprints of a text's certificates, once for
// each certificate, in the words of HAProxy. They are valid until the next one.
func (p *printer) prints(text string, whole bool, each func([]byte)) {
	const begin, end, digits = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----", "0123456789ABCDEF"
	var seen map[[sha1.Size]byte]bool
	for {
		_, rest, found := strings.Cut(text, begin)
		body, after, closed := strings.Cut(rest, end)
		if !found || !closed {
			return
		}
		text = after
		p.text = append(p.text[:0], body...)
		p.der = append(p.der[:0], p.text...) // as long as that is enough
		n, err := base64.StdEncoding.Decode(p.der, p.text)
		if err != nil {
			return
		}
		sum := sha1.Sum(p.der[:n]) //nolint:gosec // see above
		if !seen[sum] {
			p.out = p.out[:0]
			for _, b := range sum {
				p.out = append(p.out, digits[b>>4], digits[b&15])
			}
			each(p.out)
		}
		if !whole {
			return
		}
		if seen == nil {
			seen = map[[sha1.Size]byte]bool{}
		}
		seen[sum] = true
	}
}

// markAltered notes in a state the certificates and CA bundles that are not
// those of another one, which knows their texts.
func (r *Runtime) markAltered(st, known *plan.State) error {
	type key struct{ file, print string }
	have := map[key]bool{}
	if err := r.fingerprints(known, func(_ stored, file, print []byte) {
		have[key{string(file), string(print)}] = true
	}); err != nil {
		return err
	}
	count := map[string]int{}
	for k := range have {
		count[k.file]++
	}
	var p printer
	for _, of := range r.stored() {
		there := of.texts(st)
		for id, text := range of.texts(known) {
			if _, ok := there[id]; !ok || text == "" || text == plan.Altered {
				continue
			}
			file, want, same := of.file(id), 0, true
			p.prints(text, of.whole, func(print []byte) {
				want++
				same = same && have[key{file, string(print)}]
			})
			if !same || want != count[file] {
				there[id] = plan.Altered
			}
		}
	}
	return nil
}
