package haproxy

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // what HAProxy reports of a certificate; nothing is trusted for it
	"encoding/base64"
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
	// first one, of which alone HAProxy reports the fingerprint.
	whole bool
}

func (r *Runtime) stored() [2]stored {
	return [2]stored{
		{"show ssl cert", func(s *plan.State) map[string]string { return s.Certs }, r.layout.CertID, r.layout.CertFile, false},
		{"show ssl ca-file", func(s *plan.State) map[string]string { return s.CAs }, r.layout.CAID, r.layout.CAFile, true},
	}
}

// fingerprints asks HAProxy for those of all certificates and CA bundles whose
// text a state knows, as lines of its answers have them: 20 µs of its thread for
// each (3.4.7).
func (r *Runtime) fingerprints(st *plan.State, each func(of stored, file, sum []byte)) error {
	for _, of := range r.stored() {
		var ask strings.Builder
		for id, text := range of.texts(st) {
			if text == "" || text == plan.Altered {
				continue
			}
			if ask.Len() > 0 {
				ask.WriteByte(';')
			}
			ask.WriteString(of.command + " " + of.file(id))
			if ask.Len() < maxLine {
				continue
			}
			if err := r.askPrints(ask.String(), of, each); err != nil {
				return err
			}
			ask.Reset()
		}
		if ask.Len() == 0 {
			continue
		}
		if err := r.askPrints(ask.String(), of, each); err != nil {
			return err
		}
	}
	return nil
}

func (r *Runtime) askPrints(commands string, of stored, each func(of stored, file, sum []byte)) error {
	var file []byte
	return r.streamBytes(commands, func(l []byte) {
		if name, ok := bytes.CutPrefix(l, []byte("Filename: ")); ok {
			file = append(file[:0], name...)
		} else if sum, ok := bytes.CutPrefix(l, []byte("SHA1 FingerPrint: ")); ok {
			each(of, file, sum)
		}
	})
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
	have := map[string]map[string]bool{}
	if err := r.fingerprints(known, func(_ stored, file, sum []byte) {
		if have[string(file)] == nil {
			have[string(file)] = map[string]bool{}
		}
		have[string(file)][string(sum)] = true
	}); err != nil {
		return err
	}
	var p printer
	for _, of := range r.stored() {
		there := of.texts(st)
		for id, text := range of.texts(known) {
			if _, ok := there[id]; ok && text != "" && text != plan.Altered && !p.same(text, of.whole, have[of.file(id)]) {
				there[id] = plan.Altered
			}
		}
	}
	return nil
}

// same reports whether a text has exactly these fingerprints.
func (p *printer) same(text string, whole bool, have map[string]bool) bool {
	want, same := 0, true
	p.prints(text, whole, func(sum []byte) {
		want++
		same = same && have[string(sum)]
	})
	return same && want == len(have)
}
