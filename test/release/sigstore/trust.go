package main

import (
	"cmp"
	"crypto"
	"encoding/hex"
	"fmt"
	"os"
	"time"

	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
)

// project is where releases come from.
const project = "https://github.com/fairlead/fairlead"

// trust is whose signatures count.
type trust struct {
	verifier *verify.Verifier
	signer   verify.PolicyOption
}

// trustFor trusts a key, or else the workflow that releases the version.
func trustFor(keyFile, issuer, identity, version string) (trust, error) {
	if keyFile != "" {
		text, err := os.ReadFile(keyFile)
		if err != nil {
			return trust{}, fmt.Errorf("read the key: %w", err)
		}
		key, err := cryptoutils.UnmarshalPEMToPublicKey(text)
		if err != nil {
			return trust{}, fmt.Errorf("read the key %s: %w", keyFile, err)
		}
		return trustKey(key)
	}
	material, err := root.FetchTrustedRoot()
	if err != nil {
		return trust{}, fmt.Errorf("read Sigstore's root of trust (give -key to verify without it): %w", err)
	}
	identity = cmp.Or(identity, project+"/.github/workflows/release.yml@refs/tags/"+version)
	return trustIdentity(material, issuer, identity, verify.WithSignedCertificateTimestamps(1))
}

func trustKey(key crypto.PublicKey) (trust, error) {
	checker, err := signature.LoadVerifier(key, crypto.SHA256)
	if err != nil {
		return trust{}, fmt.Errorf("use the key: %w", err)
	}
	valid := root.NewExpiringKey(checker, time.Time{}, time.Time{})
	material := root.NewTrustedPublicKeyMaterial(func(string) (root.TimeConstrainedVerifier, error) { return valid, nil })
	verifier, err := verify.NewVerifier(material, verify.WithNoObserverTimestamps())
	if err != nil {
		return trust{}, fmt.Errorf("use the key: %w", err)
	}
	return trust{verifier, verify.WithKey()}, nil
}

// trustIdentity trusts certificates for one identity, with an entry in a log, and a time when the certificate was valid.
func trustIdentity(material root.TrustedMaterial, issuer, identity string, more ...verify.VerifierOption) (trust, error) {
	verifier, err := verify.NewVerifier(material, append(more, verify.WithTransparencyLog(1), verify.WithObserverTimestamps(1))...)
	if err != nil {
		return trust{}, fmt.Errorf("use Sigstore's root of trust: %w", err)
	}
	want, err := verify.NewShortCertificateIdentity(issuer, "", identity, "")
	if err != nil {
		return trust{}, fmt.Errorf("use the identity %q: %w", identity, err)
	}
	return trust{verifier, verify.WithCertificateIdentity(want)}, nil
}

// signedBy fails unless the entity is a signature of a trusted signer, of what is given.
func (t trust) signedBy(entity verify.SignedEntity, of verify.ArtifactPolicyOption) error {
	if _, err := t.verifier.Verify(entity, verify.NewPolicy(of, t.signer)); err != nil {
		return fmt.Errorf("the signature is not valid: %w", err)
	}
	return nil
}

// attested returns the statement of a bundle about what has the sum (SHA-256, hexadecimal).
func (t trust) attested(text []byte, sum string) (statement, error) {
	var b bundle.Bundle
	if err := b.UnmarshalJSON(text); err != nil {
		return statement{}, fmt.Errorf("it is no bundle: %w", err)
	}
	digest, err := hex.DecodeString(sum)
	if err != nil {
		return statement{}, fmt.Errorf("the sum %q is not hexadecimal", sum)
	}
	if err := t.signedBy(&b, verify.WithArtifactDigest("sha256", digest)); err != nil {
		return statement{}, err
	}
	envelope, err := b.Envelope()
	if err != nil {
		return statement{}, fmt.Errorf("it has no statement: %w", err)
	}
	payload, err := envelope.DecodeB64Payload()
	if err != nil {
		return statement{}, fmt.Errorf("it has no statement: %w", err)
	}
	return readStatement(payload)
}
