package ingress

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/router/certificate"
)

// Verdict is what an Ingress needs to know of a pair in a Secret.
type Verdict struct {
	// Problem says why it cannot be used, or is empty.
	Problem string
	// leaf has of the certificate only the names that it is for.
	leaf *x509.Certificate
}

// Size returns about how many bytes it takes to remember it.
func (v Verdict) Size() int {
	size := 500 + len(v.Problem)
	if v.leaf != nil {
		for _, name := range v.leaf.DNSNames {
			size += 16 + len(name)
		}
		size += 40 * len(v.leaf.IPAddresses)
	}
	return size
}

// covers returns an error if the certificate is not for a host.
func (v Verdict) covers(host string) error { return v.leaf.VerifyHostname(anyHost(host)) }

// maxPairBytes is far above what a chain with its key takes that routers would
// serve. Larger ones are not parsed.
const maxPairBytes = 128 << 10

// JudgeSecret looks at the certificate and the key in a Secret. What a router
// would refuse for its cost is refused before its key is read, which is slow, too.
func JudgeSecret(s *corev1.Secret) Verdict {
	refused := func(err error) Verdict { return Verdict{Problem: fmt.Sprintf("Secret %s: %v", s.Name, err)} }
	if s.Type != corev1.SecretTypeTLS {
		return Verdict{Problem: fmt.Sprintf("Secret %s is of type %s instead of %s", s.Name, s.Type, corev1.SecretTypeTLS)}
	}
	pair := pairOf(s)
	if n := len(pair.Certificate) + len(pair.Key); n > maxPairBytes {
		return refused(fmt.Errorf("tls.crt and tls.key have %d bytes, and %d is the most", n, maxPairBytes))
	}
	leaf, err := leafOf(pair)
	if err == nil {
		err = certificate.Check(leaf, certificate.MaxRSABits)
	}
	if wrong := pair.Check(); err == nil || leaf == nil {
		err = wrong
	}
	if err != nil {
		return refused(err)
	}
	return Verdict{leaf: namesOf(leaf)}
}

// namesOf returns a function that reports whether a certificate is for a host, and why not. A
// whole certificate is many times as large.
func namesOf(leaf *x509.Certificate) *x509.Certificate {
	names := &x509.Certificate{Subject: pkix.Name{CommonName: leaf.Subject.CommonName}, DNSNames: leaf.DNSNames, IPAddresses: leaf.IPAddresses}
	for _, e := range leaf.Extensions {
		names.Extensions = append(names.Extensions, pkix.Extension{Id: e.Id})
	}
	return names
}

func leafOf(pair certificate.Pair) (*x509.Certificate, error) {
	block, _ := pem.Decode(pair.Certificate)
	if block == nil {
		return nil, errors.New("no PEM block in the certificate")
	}
	return x509.ParseCertificate(block.Bytes)
}

// judge looks at a Secret once.
func (c *conversion) judge(name string) Verdict {
	verdict, known := c.verdicts[name]
	if known {
		return verdict
	}
	switch s := c.in.Secrets[name]; {
	case !c.tlsEntries().readable[name]:
		c.secretsLeft++
		verdict.Problem = fmt.Sprintf("Secret %s is not read", name)
	case s != nil:
		if verdict, known = c.in.Verdicts[name]; !known {
			verdict = JudgeSecret(s)
		}
	default:
		verdict.Problem = fmt.Sprintf("Secret %s does not exist, or is not of type %s", name, corev1.SecretTypeTLS)
	}
	c.verdicts[name] = verdict
	return verdict
}

// entries are the TLS entries of an Ingress, by what they are looked up by.
type entries struct {
	// byHost are those with hosts, without those of which only the Secret counts.
	byHost       map[string]int
	withoutHosts []int
	empty        int
	readable     map[string]bool
}

// tlsEntries sorts the TLS entries once. There may be as many as paths.
func (c *conversion) tlsEntries() *entries {
	if c.entries != nil {
		return c.entries
	}
	e := &entries{byHost: map[string]int{}, empty: -1, readable: map[string]bool{}}
	for _, name := range CertificateNames(c.in.Ingress, c.in.Limits) {
		e.readable[name] = true
	}
	seen := map[string]bool{}
	for i, t := range c.in.Ingress.Spec.TLS {
		for _, host := range t.Hosts {
			if _, taken := e.byHost[host]; !taken {
				e.byHost[host] = i
			}
		}
		switch {
		case len(t.Hosts) > 0:
		case t.SecretName != "" && e.readable[t.SecretName] && !seen[t.SecretName]:
			seen[t.SecretName] = true
			e.withoutHosts = append(e.withoutHosts, i)
		case t.SecretName == "" && e.empty < 0:
			e.empty = i
		}
	}
	c.entries = e
	return e
}
