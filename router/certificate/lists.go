package certificate

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead/fairlead/router/model"
)

// Bounds of revocation lists. HAProxy takes a list as a whole with one command, so how long
// one may be depends on its version.
const (
	maxLists, maxListBytes = 64, 512 << 10
	listType               = "X509 CRL"
)

// Lists are what is said of revocation lists beyond their text.
type Lists struct {
	// Ends are when they are too old, the first one first. HAProxy then refuses clients of the
	// authority.
	Ends []End
	// Without are authorities that have none: their clients are refused.
	Without []string
}

// End is when the list of an authority is too old.
type End struct {
	At time.Time
	Of string
}

// RevocableBundle checks a list of CA certificates, and the revocation lists for them, of at most so many
// bytes each; zero is no limit. What it returns has the lists behind the certificates.
func RevocableBundle(owner model.Object, authorities, revocations string, most int) (*model.CA, Lists, error) {
	ca, err := Bundle(owner, authorities)
	if err != nil {
		return nil, Lists{}, err
	}
	texts, lists, err := parseLists(revocations, most)
	if err != nil {
		return nil, Lists{}, err
	}
	about, err := judgeLists(certificatesOf(ca.PEM), lists)
	if err != nil {
		return nil, Lists{}, err
	}
	text := ca.PEM + strings.Join(texts, "")
	return &model.CA{ID: contentID(owner, "", text) + model.RevocableSuffix, PEM: text}, about, nil
}

// parseLists reads revocation lists, and returns each as PEM again.
func parseLists(text string, most int) (texts []string, lists []*x509.RevocationList, err error) {
	total := 0
	for rest := []byte(text); ; {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			break
		}
		b.Headers = nil
		one := string(pem.EncodeToMemory(b))
		total += len(one)
		switch {
		case b.Type != listType:
			return nil, nil, fmt.Errorf("has a PEM block %q, which is no revocation list", b.Type)
		case len(lists) == maxLists:
			return nil, nil, fmt.Errorf("has more than %d revocation lists", maxLists)
		case most > 0 && len(one) > most:
			return nil, nil, fmt.Errorf("has a revocation list of %d bytes, and this version of HAProxy takes %d without a reload", len(one), most)
		case total > maxListBytes:
			return nil, nil, fmt.Errorf("has revocation lists of more than %d bytes", maxListBytes)
		}
		list, err := x509.ParseRevocationList(b.Bytes)
		if err != nil {
			return nil, nil, fmt.Errorf("has a revocation list that cannot be read: %s", strings.TrimPrefix(err.Error(), "x509: "))
		}
		texts, lists = append(texts, one), append(lists, list)
	}
	if len(lists) == 0 {
		return nil, nil, errors.New("has no revocation list in PEM")
	}
	return texts, lists, nil
}

// judgeLists refuses lists that say that they are of an authority which did not sign them.
// Those of authorities that clients send along are checked in the handshake.
func judgeLists(authorities []*x509.Certificate, lists []*x509.RevocationList) (Lists, error) {
	var about Lists
	for _, l := range lists {
		if !l.NextUpdate.IsZero() {
			about.Ends = append(about.Ends, End{At: l.NextUpdate, Of: l.Issuer.String()})
		}
		var why error
		for _, a := range authorities {
			if !bytes.Equal(a.RawSubject, l.RawIssuer) {
				continue
			}
			if why = l.CheckSignatureFrom(a); why == nil {
				break
			}
		}
		if why != nil {
			return Lists{}, fmt.Errorf("has a revocation list of %s that it did not sign, or may not sign: %s", l.Issuer, strings.TrimPrefix(why.Error(), "x509: "))
		}
	}
	slices.SortStableFunc(about.Ends, func(a, b End) int { return a.At.Compare(b.At) })
	about.Without = without(authorities, lists)
	return about, nil
}

// without returns the names of authorities that have no list.
func without(authorities []*x509.Certificate, lists []*x509.RevocationList) (names []string) {
	for _, a := range authorities {
		if !slices.ContainsFunc(lists, func(l *x509.RevocationList) bool { return bytes.Equal(a.RawSubject, l.RawIssuer) }) {
			names = append(names, a.Subject.String())
		}
	}
	return names
}

// certificatesOf reads the certificates of a text that Bundle wrote.
func certificatesOf(text string) (all []*x509.Certificate) {
	for rest := []byte(text); ; {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			return all
		}
		if c, err := x509.ParseCertificate(b.Bytes); err == nil {
			all = append(all, c)
		}
	}
}
