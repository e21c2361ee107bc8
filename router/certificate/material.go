package certificate

import (
	"slices"

	"github.com/fairlead/fairlead/router/model"
)

// Material remembers what the PEM texts of a route hold, so that each text is
// parsed once: that takes milliseconds, and pods come and go much more often.
// It belongs to one route, hence to one goroutine at a time.
type Material struct {
	kept   []kept
	parses int
	// most is how many texts to remember, if that is more than keptTexts.
	most int
}

// Hold lets up to so many texts be remembered.
func (m *Material) Hold(n int) {
	if m != nil {
		m.most = n
	}
}

// kept is one text, or several that belong together, and what came of it.
type kept struct {
	of   texts
	cert *model.Certificate
	ca   *model.CA
	// lists are those of ca.
	lists Lists
	err   error
}

// texts identify what is parsed. Strings that come from the same object are
// equal by their address, without a look at them.
type texts struct {
	kind, host string
	pem        Texts
	rsaBits    int
	// mostBytes is the bound of a revocation list.
	mostBytes int
}

// keptTexts is how many are remembered: certificate, CA, and the certificate that is
// shown to pods, of the newest and of the last good version, and of one more.
// keptBytes is room for those of two versions as long as the API server takes:
// a route that is rewritten all the time cannot hold more.
const keptTexts, keptBytes = 9, 3 << 20

// Parses counts what had to be parsed.
func (m *Material) Parses() int { return m.parses }

func (m *Material) get(of texts, parse func() kept) kept {
	if m == nil {
		return parse()
	}
	if i := slices.IndexFunc(m.kept, func(k kept) bool { return k.of == of }); i >= 0 {
		// The strings of the newest object, so that those of the one before, of
		// up to a megabyte, are not in memory beside them.
		m.kept[i].of = of
		return m.kept[i]
	}
	k := parse()
	k.of = of
	m.parses++
	m.kept = append(m.kept, k)
	for len(m.kept) > 1 && (len(m.kept) > max(keptTexts, m.most) || m.bytes() > keptBytes) {
		m.kept = slices.Delete(m.kept, 0, 1)
	}
	return k
}

// bytes is how long the remembered texts are.
func (m *Material) bytes() int {
	n := 0
	for _, k := range m.kept {
		n += len(k.of.pem.Chain) + len(k.of.pem.Key) + len(k.of.pem.CA)
	}
	return n
}

// Certificate is Read.
func (m *Material) Certificate(owner model.Object, host string, in Texts, rsaBits int) (*model.Certificate, error) {
	k := m.get(texts{kind: "certificate", host: host, pem: in, rsaBits: rsaBits}, func() kept {
		cert, err := Read(owner, host, in, rsaBits)
		return kept{cert: cert, err: err}
	})
	return k.cert, k.err
}

// Bundle is the function of that name.
func (m *Material) Bundle(owner model.Object, text string) (*model.CA, error) {
	k := m.get(texts{kind: "bundle", pem: Texts{CA: text}}, func() kept {
		ca, err := Bundle(owner, text)
		return kept{ca: ca, err: err}
	})
	return k.ca, k.err
}

// RevocableBundle is the function of that name.
func (m *Material) RevocableBundle(owner model.Object, authorities, revocations string, most int) (*model.CA, Lists, error) {
	k := m.get(texts{kind: "revocable", pem: Texts{CA: authorities, Chain: revocations}, mostBytes: most}, func() kept {
		ca, lists, err := RevocableBundle(owner, authorities, revocations, most)
		return kept{ca: ca, lists: lists, err: err}
	})
	return k.ca, k.lists, k.err
}

// Unused checks a key and CA certificates that have no effect without a
// certificate: as on OpenShift they must be right all the same.
func (m *Material) Unused(key, ca string) error {
	if key == "" && ca == "" {
		return nil
	}
	in := Texts{Key: key, CA: ca}
	return m.get(texts{kind: "unused", pem: in}, func() kept { return kept{err: unused(in)} }).err
}
