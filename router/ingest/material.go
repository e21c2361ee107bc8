package ingest

import (
	"slices"

	"github.com/fairlead/fairlead/router/model"
)

// Past is what the pipeline remembers of a route.
type Past struct {
	// Certificate is the one served last, or nil. It goes on serving where the
	// Secret that the route names has come to hold nonsense.
	Certificate *model.Certificate
	// Material remembers what TLS texts hold, or is nil.
	Material *Material
	// Stretch is how many times longer than it asks for the pause between the
	// route's health checks is; zero means one.
	Stretch int
}

// Material remembers what the PEM texts of a route hold, so that each text is
// parsed once: that takes milliseconds, and pods come and go much more often.
// It belongs to one route, hence to one goroutine at a time.
type Material struct {
	kept   []kept
	parses int
}

// kept is one text, or several that belong together, and what came of it.
type kept struct {
	of   texts
	cert *model.Certificate
	ca   *model.CA
	err  error
}

// texts identify what is parsed. Strings that come from the same object are
// equal by their address, without a look at them.
type texts struct {
	kind, host string
	pem        pemTexts
	rsaBits    int
}

// keptTexts is how many are remembered: certificate and CA of the newest and of
// the last good version, and of one more.
// keptBytes is room for those of two versions as long as the API server takes:
// a route that is rewritten all the time cannot hold more.
const keptTexts, keptBytes = 6, 3 << 20

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
	for len(m.kept) > 1 && (len(m.kept) > keptTexts || m.bytes() > keptBytes) {
		m.kept = slices.Delete(m.kept, 0, 1)
	}
	return k
}

// bytes is how long the remembered texts are.
func (m *Material) bytes() int {
	n := 0
	for _, k := range m.kept {
		n += len(k.of.pem.chain) + len(k.of.pem.key) + len(k.of.pem.ca)
	}
	return n
}

func (m *Material) certificate(owner model.Key, host string, in pemTexts, rsaBits int) (*model.Certificate, error) {
	k := m.get(texts{"certificate", host, in, rsaBits}, func() kept {
		cert, err := certificate(owner, host, in, rsaBits)
		return kept{cert: cert, err: err}
	})
	return k.cert, k.err
}

func (m *Material) bundle(owner model.Key, text string) (*model.CA, error) {
	k := m.get(texts{kind: "bundle", pem: pemTexts{ca: text}}, func() kept {
		ca, err := bundle(owner, text)
		return kept{ca: ca, err: err}
	})
	return k.ca, k.err
}
