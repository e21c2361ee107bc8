package render

import (
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"maps"
	"math/big"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead/fairlead/router/plan"
)

// Each port for Gateways' listeners that end TLS has a list of certificates of its own, because
// HAProxy looks for a server name in the lists of the port: no Gateway's certificate is
// shown at another one's port.
//
// Clients that send no name, or one that no line has, get the certificate of the line for
// "*", if there is one: the listener without a hostname has them. HAProxy knows no such
// line where it must find the name of each client (strict-sni), and otherwise demands a
// first certificate at its start that it never lets go of. That is slotDefault: its key is
// of a kind that comes last, after all that lines for "*" may have, and its line takes
// no version of TLS that HAProxy speaks with it. So a handshake that leads to it fails.

// SlotsDir holds the lists.
func (l Layout) SlotsDir() string { return filepath.Join(l.Dir, "slots") }

// SlotList is the list of one port.
func (l Layout) SlotList(slot int) string {
	return filepath.Join(l.SlotsDir(), strconv.Itoa(slot)+".list")
}

// SlotOf returns the port that a list is of.
func (l Layout) SlotOf(list string) (slot int, ok bool) {
	name, ok := cutAffixes(list, l.SlotsDir()+"/", ".list")
	slot, err := strconv.Atoi(name)
	return slot, ok && err == nil
}

// SlotDefault is the file, and HAProxy's name, of the certificate that begins each list.
func (l Layout) SlotDefault() string { return filepath.Join(l.SlotsDir(), "default.pem") }

// slotDefaultLine begins each list.
func slotDefaultLine(l Layout) string {
	return l.SlotDefault() + " [ssl-min-ver TLSv1.0 ssl-max-ver TLSv1.0] " + AnyName
}

// AnyName is the name, in a list, of all clients that no other line is for.
const AnyName = "*"

// SlotLine is one line of a list: a certificate, what clients are asked for, and the names
// that they ask for.
func SlotLine(l Layout, line plan.SlotLine, terms plan.SlotTerms) (string, error) {
	file := l.CertFile(line.CertID)
	err := checkPlain(file)
	for name := range strings.SplitSeq(terms.Names, " ") {
		err = errors.Join(err, checkPlain(name))
	}
	for _, value := range []string{terms.CA, terms.ALPN} {
		if value != "" {
			err = errors.Join(err, checkPlain(value))
		}
	}
	if err != nil {
		return "", &UnsafeError{Step: plan.SlotLineAdd{SlotLine: line, SlotTerms: terms}, Err: err}
	}
	return file + " " + SlotTermsText(l, terms), nil
}

// Options of a line. Where all clients are let in, the port ignores what is wrong with their
// certificates (fallbackBind).
const (
	demands = "verify required ca-file "
	offers  = "verify optional ca-file "
	agrees  = "alpn "
)

// SlotTermsText is what follows the certificate in a line of a list, as HAProxy shows it.
func SlotTermsText(l Layout, t plan.SlotTerms) string {
	options := ""
	if t.ALPN != "" {
		options = agrees + t.ALPN
	}
	if t.CA != "" && t.ALPN != "" {
		options += " "
	}
	switch {
	case t.CA != "" && t.LetsAllIn:
		options += offers + l.CAFile(t.CA)
	case t.CA != "":
		options += demands + l.CAFile(t.CA)
	}
	if options == "" {
		return t.Names
	}
	return "[" + options + "] " + t.Names
}

// ReadSlotTerms reads a SlotTermsText. A text that is none is all names, which no line of the
// router has.
func ReadSlotTerms(l Layout, text string) plan.SlotTerms {
	if rest, is := strings.CutPrefix(text, "["); is {
		options, names, _ := strings.Cut(rest, "] ")
		t := plan.SlotTerms{Names: names}
		if rest, has := strings.CutPrefix(options, agrees); has {
			t.ALPN, options, _ = strings.Cut(rest, " ")
		}
		file, optional := strings.CutPrefix(options, offers)
		if !optional {
			file = strings.TrimPrefix(file, demands)
		}
		t.CA, _ = l.CAID(file)
		if t.LetsAllIn = optional; SlotTermsText(l, t) == text {
			return t
		}
	}
	return plan.SlotTerms{Names: text}
}

// SlotLists returns the lists of all ports, by their files.
func SlotLists(st *plan.State, l Layout, blocks []Slots) (map[string]string, error) {
	texts := map[int]*strings.Builder{}
	for _, b := range blocks {
		for slot := b.First; slot < b.First+b.Count; slot++ {
			texts[slot] = &strings.Builder{}
			_, _ = texts[slot].WriteString(slotDefaultLine(l) + "\n")
		}
	}
	lines := slices.SortedFunc(maps.Keys(st.SlotLines), func(a, b plan.SlotLine) int { return strings.Compare(a.CertID, b.CertID) })
	for _, line := range lines {
		text, err := SlotLine(l, line, st.SlotLines[line])
		if err != nil {
			return nil, err
		}
		if list := texts[line.Slot]; list != nil {
			list.WriteString(text)
			list.WriteByte('\n')
		}
	}
	lists := make(map[string]string, len(texts))
	for slot, list := range texts {
		lists[l.SlotList(slot)] = list.String()
	}
	return lists, nil
}

// slotDefaultPEM is the certificate that begins each list, the same in each process: a
// random one would be another configuration. Its key is no secret, since no
// handshake succeeds with it.
func slotDefaultPEM() string {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "no listener"},
		NotBefore: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	certificate, err := x509.CreateCertificate(nil, template, template, key.Public(), key)
	if err != nil {
		return "" // HAProxy says that the file is empty
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return ""
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})) +
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}
