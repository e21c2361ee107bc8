package authentication

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/regex"
)

const (
	// defaultKeyHeader is where HAProxy finds keys without Lua.
	defaultKeyHeader = "X-API-Key"
	defaultConsumer  = "X-Consumer"
	// mostAPIKeys bounds the entries of HAProxy's map that one route has.
	mostAPIKeys    = 2000
	mostKeySecrets = 8
	// hashedKey begins a key of which only the hash is known.
	hashedKey = "sha256:"
)

var (
	// keyText is an API key. Shorter ones could be guessed.
	keyText      = regex.Later(`^[!-~]{20,512}$`)
	consumerText = regex.Later(`^[A-Za-z0-9._-]{1,128}$`)
)

// apiKeys reads the keys. No message repeats one.
func (c *compiler) apiKeys(a *v1alpha1.APIKeyAuthentication) {
	out := &model.APIKeys{Strips: a.StripKey == nil || *a.StripKey, Header: defaultConsumer, Consumers: map[string]string{}}
	if a.ForwardConsumer != "" {
		out.Header = string(a.ForwardConsumer)
	}
	c.forPod("apiKeys.forwardConsumer", v1alpha1.HeaderName(out.Header))
	c.keySources(a.From, out)
	if len(a.Secrets) == 0 || len(a.Secrets) > mostKeySecrets {
		c.close("apiKeys.secrets", "must name 1 to %d Secrets", mostKeySecrets)
		return
	}
	twice := map[string]bool{}
	names := make([]string, 0, len(a.Secrets))
	known := true
	for i, name := range a.Secrets {
		names = append(names, c.in.Namespace+"/"+string(name))
		if strings.Contains(string(name), "/") {
			names[i] = string(name)
		}
		field := fmt.Sprintf("apiKeys.secrets[%d]", i)
		data, ok := c.secret(field, name)
		if known = known && data != nil; ok && data != nil {
			c.keysOf(field, string(name), data, out, twice)
		}
	}
	for hash := range twice {
		delete(out.Consumers, hash)
	}
	switch n := len(out.Consumers); {
	case n > mostAPIKeys:
		c.close("apiKeys.secrets", "have %d keys; at most %d are possible", n, mostAPIKeys)
	case n == 0 && known:
		c.unresolved(api.ReasonSecretInvalid, "apiKeys.secrets", "have no usable key")
	}
	c.keys, c.out.APIKeys = out, &snapshot.APIKeys{Header: out.Header}
	c.methods = append(c.methods, "apiKeys: keys of Secret "+strings.Join(names, ", "))
}

// keysOf adds the keys of a Secret. One that two consumers have is neither's.
func (c *compiler) keysOf(field, name string, data map[string][]byte, out *model.APIKeys, twice map[string]bool) {
	for _, consumer := range slices.Sorted(maps.Keys(data)) {
		if !consumerText().MatchString(consumer) {
			c.warn(field, "Secret %q: %q is not the name of a consumer: up to 128 letters, digits, . _ -", name, consumer)
			continue
		}
		sum, err := keySum(strings.TrimSpace(string(data[consumer])))
		if err != nil {
			c.warn(field, "Secret %q: the key of consumer %s %s; it admits no request", name, consumer, err)
			continue
		}
		hash := c.hash(sum)
		if other, known := out.Consumers[hash]; known && other != consumer {
			twice[hash] = true
			c.warn(field, "Secret %q: consumers %s and %s have the same key; it admits neither", name, other, consumer)
			continue
		}
		out.Consumers[hash] = consumer
	}
}

// keySum returns the SHA-256 of a key, which may be written in its place.
func keySum(text string) ([]byte, error) {
	if digits, hashed := strings.CutPrefix(text, hashedKey); hashed {
		sum, err := hex.DecodeString(digits)
		if err != nil || len(sum) != sha256.Size {
			return nil, errors.New("must be sha256: and 64 hexadecimal digits")
		}
		return sum, nil
	}
	if !keyText().MatchString(text) {
		return nil, errors.New("must have 20 to 512 visible ASCII characters")
	}
	sum := sha256.Sum256([]byte(text))
	return sum[:], nil
}

// hash is what HAProxy computes of a key: hmac(sha256,proc.key) of its sum, in upper case.
func (c *compiler) hash(sum []byte) string {
	secret, _ := base64.StdEncoding.DecodeString(c.in.Key) // the router has made it
	mac := hmac.New(sha256.New, secret)
	_, _ = mac.Write(sum)
	return strings.ToUpper(hex.EncodeToString(mac.Sum(nil)))
}

// keySources reads where a key may be. The default needs no words in the record.
func (c *compiler) keySources(from []v1alpha1.APIKeySource, out *model.APIKeys) {
	if len(from) > mostSources {
		c.close("apiKeys.from", "has %d places; at most %d are possible", len(from), mostSources)
		return
	}
	for i, s := range from {
		field := fmt.Sprintf("apiKeys.from[%d]", i)
		c.oneOf(field+".type", s.Type, "Header", "Query")
		if s.Type == "" || !model.HeaderName(s.Name) {
			c.close(field, "must have a type, and the name of a header or parameter")
			continue
		}
		if s.Type == "Header" && !credential(s.Name) {
			c.close(field+".name", "header %s is not the client's to hold a key", s.Name)
		}
		out.From = append(out.From, model.KeySource{Query: s.Type == "Query", Name: s.Name})
	}
	if len(out.From) == 1 && !out.From[0].Query && strings.EqualFold(out.From[0].Name, defaultKeyHeader) {
		out.From = nil
	}
}
