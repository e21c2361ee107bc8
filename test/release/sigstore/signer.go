package main

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/sign"
	"github.com/sigstore/sigstore-go/pkg/tuf"
	"google.golang.org/protobuf/encoding/protojson"
)

// signer makes bundles.
type signer interface {
	bundle(content sign.Content) ([]byte, error)
}

// signerFor returns a signer with the identity of the workflow, or with the key of the environment.
func signerFor(ctx context.Context, keyless bool) (signer, error) {
	if keyless {
		return newKeyless(ctx)
	}
	block, _ := pem.Decode([]byte(os.Getenv(signingKey)))
	if block == nil {
		return nil, fmt.Errorf("%s has no key (openssl genpkey -algorithm ed25519), and -keyless is not given", signingKey)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, ok := parsed.(ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, fmt.Errorf("%s has no Ed25519 key", signingKey) // the library's error may quote parts of it
	}
	return keySigner{key}, nil
}

// keySigner signs with one Ed25519 key. It is the Keypair of its bundles.
type keySigner struct{ key ed25519.PrivateKey }

func (s keySigner) bundle(content sign.Content) ([]byte, error) {
	return marshal(content, s, sign.BundleOptions{})
}

func (keySigner) GetHashAlgorithm() protocommon.HashAlgorithm {
	return protocommon.HashAlgorithm_SHA2_256
}

func (keySigner) GetSigningAlgorithm() protocommon.PublicKeyDetails {
	return protocommon.PublicKeyDetails_PKIX_ED25519
}

// GetHint names the key by its sum, as other programs do.
func (s keySigner) GetHint() []byte {
	der, err := x509.MarshalPKIXPublicKey(s.key.Public())
	if err != nil {
		return nil
	}
	sum := sha256.Sum256(der)
	return []byte(base64.StdEncoding.EncodeToString(sum[:]))
}

func (keySigner) GetKeyAlgorithm() string { return "ED25519" }

func (s keySigner) GetPublicKey() crypto.PublicKey { return s.key.Public() }

func (s keySigner) GetPublicKeyPem() (string, error) {
	der, err := x509.MarshalPKIXPublicKey(s.key.Public())
	if err != nil {
		return "", fmt.Errorf("write the public key: %w", err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), nil
}

func (s keySigner) SignData(_ context.Context, data []byte) (signature, digest []byte, err error) {
	sum := sha256.Sum256(data)
	return ed25519.Sign(s.key, data), sum[:], nil
}

// marshal signs and writes the bundle, in one form: protojson itself varies its spaces.
func marshal(content sign.Content, key sign.Keypair, opts sign.BundleOptions) ([]byte, error) {
	made, err := sign.Bundle(content, key, opts)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	text, err := protojson.Marshal(made)
	if err != nil {
		return nil, fmt.Errorf("write a bundle: %w", err)
	}
	var out bytes.Buffer
	if err := json.Compact(&out, text); err != nil {
		return nil, fmt.Errorf("write a bundle: %w", err)
	}
	return append(out.Bytes(), '\n'), nil
}

// keyless signs each bundle with a key of its own, for which Sigstore's authority certifies the identity of the workflow, and notes it in
// the public log.
type keyless struct {
	ctx     context.Context
	options sign.BundleOptions
}

// newKeyless asks Sigstore's public instance, by TUF, which services to use.
func newKeyless(ctx context.Context) (*keyless, error) {
	client, err := tuf.New(tuf.DefaultOptions())
	if err != nil {
		return nil, fmt.Errorf("read Sigstore's root of trust: %w", err)
	}
	trusted, err := root.GetTrustedRoot(client)
	if err != nil {
		return nil, fmt.Errorf("read Sigstore's root of trust: %w", err)
	}
	config, err := root.GetSigningConfig(client)
	if err != nil {
		return nil, fmt.Errorf("read Sigstore's services: %w", err)
	}
	now := time.Now()
	authority, err := root.SelectService(config.FulcioCertificateAuthorityURLs(), sign.FulcioAPIVersions, now)
	if err != nil {
		return nil, fmt.Errorf("choose Sigstore's authority: %w", err)
	}
	clocks, err := root.SelectServices(config.TimestampAuthorityURLs(), config.TimestampAuthorityURLsConfig(), sign.TimestampAuthorityAPIVersions, now)
	if err != nil {
		return nil, fmt.Errorf("choose Sigstore's clocks: %w", err)
	}
	logs, err := root.SelectServices(config.RekorLogURLs(), config.RekorLogURLsConfig(), sign.RekorAPIVersions, now)
	if err != nil {
		return nil, fmt.Errorf("choose Sigstore's logs: %w", err)
	}
	k := &keyless{ctx: ctx, options: sign.BundleOptions{
		Context: ctx, TrustedRoot: trusted,
		CertificateProvider: sign.NewFulcio(&sign.FulcioOptions{BaseURL: authority.URL, Timeout: 30 * time.Second, Retries: 3}),
	}}
	for _, clock := range clocks {
		k.options.TimestampAuthorities = append(k.options.TimestampAuthorities, sign.NewTimestampAuthority(&sign.TimestampAuthorityOptions{URL: clock.URL, Timeout: 30 * time.Second, Retries: 3}))
	}
	for _, log := range logs {
		k.options.TransparencyLogs = append(k.options.TransparencyLogs, sign.NewRekor(&sign.RekorOptions{BaseURL: log.URL, Timeout: 90 * time.Second, Retries: 3, Version: log.MajorAPIVersion}))
	}
	return k, nil
}

func (k *keyless) bundle(content sign.Content) ([]byte, error) {
	token, err := workflowToken(k.ctx)
	if err != nil {
		return nil, err
	}
	key, err := sign.NewEphemeralKeypair(nil)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	options := k.options
	options.CertificateProviderOptions = &sign.CertificateProviderOptions{IDToken: token}
	return marshal(content, key, options)
}

// workflowToken asks GitHub Actions for a token that says which workflow this is; it is valid for some minutes.
func workflowToken(ctx context.Context) (string, error) {
	address, right := os.Getenv("ACTIONS_ID_TOKEN_REQUEST_URL"), os.Getenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN")
	if address == "" || right == "" {
		return "", errors.New("this is no workflow of GitHub Actions with the permission \"id-token: write\"")
	}
	ask, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("ask for a token of the workflow: %w", err)
	}
	query := ask.Query()
	query.Set("audience", "sigstore")
	ask.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, ask.String(), nil)
	if err != nil {
		return "", fmt.Errorf("ask for a token of the workflow: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+right)
	answer, err := (&http.Client{Timeout: 30 * time.Second}).Do(request)
	if err != nil {
		return "", fmt.Errorf("ask for a token of the workflow: %w", err)
	}
	defer answer.Body.Close()
	var got struct {
		Value string `json:"value"`
	}
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("ask for a token of the workflow: the answer is %s", answer.Status)
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(&got); err != nil {
		return "", fmt.Errorf("read the token of the workflow: %w", err)
	}
	if got.Value == "" {
		return "", errors.New("ask for a token of the workflow: the answer has none")
	}
	return got.Value, nil
}
