package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/operator/budget"
	"github.com/fairlead/fairlead/router/door/ingress"
)

// secrets reads the Secrets that Ingresses name, each once for each content: the
// cache has metadata only, of which the version says whether the content is known.
// What is remembered is the verdict; content only where it is copied into Routes,
// which have it anyway.
type secrets struct {
	metadata, contents client.Reader
	// unwatched and watched bound what is read for a namespace.
	unwatched, watched *budget.Budgets

	mu    sync.Mutex
	known map[client.ObjectKey]knownSecret
	bytes int
}

// knownSecret is what is remembered of a Secret.
type knownSecret struct {
	version string
	kind    corev1.SecretType
	verdict ingress.Verdict
	// data is what Routes copy of it, nil where none does.
	data map[string][]byte
}

const (
	// rememberedBytes bounds the memory. What does not fit in is read again when it
	// is needed.
	rememberedBytes = 64 << 20
	// budgetPause is how long an Ingress waits if the budget for contents is used up.
	budgetPause = time.Second
)

func newSecrets(metadata, contents client.Reader) *secrets {
	return &secrets{
		metadata: metadata, contents: contents,
		unwatched: budget.New(unwatchedReads, unwatchedBurst), watched: budget.New(contentReads, contentBurst),
		known: map[client.ObjectKey]knownSecret{},
	}
}

// gather adds the Secrets that an Ingress names, and the verdicts about them. Of
// what is watched there are those of type kubernetes.io/tls only, which
// certificates must be of. The CA of the pods may be in another one: it is asked
// for at each look. Gather reports whether it was, or, with the time to wait, that
// the budget of the namespace is used up.
func (s *secrets) gather(ctx context.Context, in *ingress.Input, limits ingress.Limits) (unwatched bool, wait time.Duration, err error) {
	in.Secrets, in.Verdicts = map[string]*corev1.Secret{}, map[string]ingress.Verdict{}
	namespace, ca, copies := in.Ingress.Namespace, ingress.DestinationCAName(in.Ingress), ingress.Copies(in.Ingress)
	for _, name := range ingress.SecretNames(in.Ingress, limits) {
		key := client.ObjectKey{Namespace: namespace, Name: name}
		var copied []string
		if copies || name == ca {
			copied = append(copied, corev1.TLSCertKey)
		}
		if copies {
			copied = append(copied, corev1.TLSPrivateKeyKey)
		}
		known, there, wait, err := s.read(ctx, key, copied)
		if err != nil || wait > 0 {
			return false, wait, err
		}
		if there {
			in.Secrets[name] = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Type: known.kind, Data: known.data}
			in.Verdicts[name] = known.verdict
		}
	}
	if ca == "" || in.Secrets[ca] != nil {
		return false, 0, nil
	}
	if wait := s.unwatched.Take(namespace); wait > 0 {
		return false, wait, nil
	}
	return true, 0, readInto(ctx, s.contents, in.Secrets, namespace, ca, &corev1.Secret{})
}

// read returns what is known of a Secret that is watched, with the texts that are
// copied, and whether there is such a Secret.
func (s *secrets) read(ctx context.Context, key client.ObjectKey, copied []string) (known knownSecret, there bool, wait time.Duration, err error) {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if err := s.metadata.Get(ctx, key, m); err != nil {
		s.forget(key)
		return known, false, 0, client.IgnoreNotFound(err)
	}
	if known, there = s.remembered(key, versionOf(m), copied); there {
		return known, true, 0, nil
	}
	if s.watched.Take(key.Namespace) > 0 {
		return known, false, budgetPause, nil
	}
	live := &corev1.Secret{}
	if err := s.contents.Get(ctx, key, live); err != nil {
		if apierrors.IsNotFound(err) {
			return known, false, 0, nil // The watch reports that, too.
		}
		return known, false, 0, fmt.Errorf("read Secret %s: %w", key, err)
	}
	known = knownSecret{version: versionOf(live), kind: live.Type, verdict: ingress.JudgeSecret(live)}
	if len(copied) > 0 {
		known.data = map[string][]byte{}
		for _, k := range copied {
			known.data[k] = live.Data[k]
		}
	}
	s.remember(key, known)
	return known, true, 0, nil
}

func versionOf(o metav1.Object) string { return string(o.GetUID()) + "/" + o.GetResourceVersion() }

// remembered returns what is known of a version, if it has the texts.
func (s *secrets) remembered(key client.ObjectKey, version string, copied []string) (knownSecret, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, there := s.known[key]
	for _, k := range copied {
		_, has := known.data[k]
		there = there && has
	}
	return known, there && known.version == version
}

func (s *secrets) remember(key client.ObjectKey, known knownSecret) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(key)
	s.known[key] = known
	s.bytes += known.size()
	for other := range s.known {
		if s.bytes <= rememberedBytes {
			break
		}
		s.drop(other)
	}
}

func (s *secrets) forget(key client.ObjectKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(key)
}

// drop is forget for those that hold the lock.
func (s *secrets) drop(key client.ObjectKey) {
	if old, there := s.known[key]; there {
		delete(s.known, key)
		s.bytes -= old.size()
	}
}

func (k knownSecret) size() int {
	size := 300 + k.verdict.Size()
	for _, text := range k.data {
		size += len(text)
	}
	return size
}
