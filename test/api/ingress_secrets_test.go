package api

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	names "github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator"
	issue "github.com/fairlead/fairlead/operator/certificate"
	"github.com/fairlead/fairlead/operator/dns"
	ingress "github.com/fairlead/fairlead/operator/ingress/controller"
	"github.com/fairlead/fairlead/router/certificate"
)

// listener reads along what the API server answers to the operator about Secrets.
type listener struct {
	// markers are texts in the Secrets, which say whose content is answered.
	markers []string

	mu     sync.Mutex
	heard  map[string]int // answers with the text of a marker
	single map[string]int // GETs of a Secret, by namespace/name
}

func (l *listener) between(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		answer, err := next.RoundTrip(r)
		if err != nil || !strings.Contains(r.URL.Path, "/secrets") {
			return answer, err
		}
		if part := strings.Split(r.URL.Path, "/"); r.Method == http.MethodGet && len(part) == 7 { // /api/v1/namespaces/NAMESPACE/secrets/NAME
			l.count(l.single, part[4]+"/"+part[6])
		}
		answer.Body = &overheard{ReadCloser: answer.Body, listener: l, left: maps.Clone(l.wanted())}
		return answer, nil
	})
}

// wanted are the markers as they stand in an answer, in protobuf and in JSON.
func (l *listener) wanted() map[string]string {
	all := map[string]string{}
	for _, m := range l.markers {
		all[m] = m
		all[base64.StdEncoding.EncodeToString([]byte(m))] = m
	}
	return all
}

func (l *listener) count(where map[string]int, key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	where[key]++
}

// counts returns how often a marker was heard, and a Secret read by itself.
func (l *listener) counts(marker, secret string) (heard, single int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heard[marker], l.single[secret]
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(q *http.Request) (*http.Response, error) { return r(q) }

// overheard is the body of an answer, which may be a watch without an end.
type overheard struct {
	io.ReadCloser
	listener *listener
	left     map[string]string
	tail     []byte
}

func (o *overheard) Read(p []byte) (int, error) {
	n, err := o.ReadCloser.Read(p)
	text := slices.Concat(o.tail, p[:n])
	for spelled, marker := range o.left {
		if bytes.Contains(text, []byte(spelled)) {
			delete(o.left, spelled)
			o.listener.count(o.listener.heard, marker)
		}
	}
	o.tail = append([]byte(nil), text[max(0, len(text)-200):]...)
	return n, err
}

// marked is a Secret whose content has a marker. The length makes base64 spell it
// in one way wherever it stands alone.
func marked(namespace, name, marker string, kind corev1.SecretType, pair certificate.Pair) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Type: kind,
		Data: map[string][]byte{"marker": []byte(marker), corev1.TLSCertKey: pair.Certificate, corev1.TLSPrivateKeyKey: pair.Key},
	}
}

func wildcardPair(t *testing.T, domain string) certificate.Pair {
	t.Helper()
	now := time.Now()
	ca, err := issue.NewCA(now)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := issue.NewWildcard(ca, domain, now)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// TestSecretsNobodyNames: the API server answers the operator with the content of
// the Secrets that an Ingress of its own names, and of no others.
func TestSecretsNobodyNames(t *testing.T) {
	c := newClient(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "secrets-"}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	pair := wildcardPair(t, "example.com")
	tls, opaque := corev1.SecretTypeTLS, corev1.SecretTypeOpaque
	secrets := map[string]*corev1.Secret{}
	for _, s := range []*corev1.Secret{
		marked(ns.Name, "shop-tls", "marker-of-the-named-one", tls, pair),
		marked(ns.Name, "unnamed", "marker-of-an-unnamed-one", tls, pair),
		marked(ns.Name, "theirs", "marker-of-another-class", tls, pair),
		marked(ns.Name, "password", "marker-of-a-password", opaque, pair),
		marked(names.OperandNamespace, "unnamed", "marker-beside-routers", tls, pair),
		marked(names.OperandNamespace, "password", "marker-beside-routers-2", opaque, pair),
		marked(names.OperatorNamespace, "password", "marker-beside-operator", opaque, pair),
	} {
		if err := c.Create(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Delete(context.Background(), s) })
		secrets[string(s.Data["marker"])] = s
	}
	createIngress(t, c, strings.ReplaceAll(referring, "NAMESPACE", ns.Name))
	createIngress(t, c, strings.NewReplacer("NAMESPACE", ns.Name, "openshift-default", "nginx", "name: shop,", "name: other,", "shop-tls", "theirs").Replace(referring))

	l := &listener{heard: map[string]int{}, single: map[string]int{}}
	for marker := range secrets {
		l.markers = append(l.markers, marker)
	}
	startOperatorWatched(t, dns.Options{}, operator.Options{}, ingress.Options{}, l.between)
	wantRoute(t, c, ns.Name, "reference.example.com/", wantReference)

	t.Run("a change is seen", func(t *testing.T) {
		// The changes of the others come first, so they are seen as well by then.
		for marker, s := range secrets {
			s.Labels = map[string]string{"changed": "true"}
			if err := c.Update(t.Context(), s); err != nil {
				t.Fatal(marker, err)
			}
		}
		named := secrets["marker-of-the-named-one"]
		other := wildcardPair(t, "elsewhere.example.net")
		named.Data[corev1.TLSCertKey], named.Data[corev1.TLSPrivateKeyKey] = other.Certificate, other.Key
		if err := c.Update(t.Context(), named); err != nil {
			t.Fatal(err)
		}
		wantEvent(t, c, ns.Name, "shop", "Warning CertificateHostMismatch")
	})
	for marker, s := range secrets {
		heard, single := l.counts(marker, s.Namespace+"/"+s.Name)
		switch {
		case marker != "marker-of-the-named-one" && heard+single > 0:
			t.Errorf("content of %s/%s was answered %d times, and asked for %d times", s.Namespace, s.Name, heard, single)
		case marker == "marker-of-the-named-one" && (heard == 0 || heard > 3 || single != heard):
			t.Errorf("content of the named Secret, which had 3 versions, was answered %d times, and asked for %d times", heard, single)
		}
	}
}

// TestSecretReads: a Secret is read once for each content, whatever number of
// Ingresses names it, and once more by an operator that starts.
func TestSecretReads(t *testing.T) {
	c := newClient(t)
	const count, shared = 24, 10
	pair := wildcardPair(t, "example.com")
	l := &listener{markers: []string{"marker-of-a-shared-one"}, heard: map[string]int{}, single: map[string]int{}}
	var namespaces []string
	for range 3 {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "reads-"}}
		if err := c.Create(t.Context(), ns); err != nil {
			t.Fatal(err)
		}
		namespaces = append(namespaces, ns.Name)
		for n := range count / 3 {
			name := fmt.Sprint("own-", n)
			if err := c.Create(t.Context(), marked(ns.Name, name, name, corev1.SecretTypeTLS, pair)); err != nil {
				t.Fatal(err)
			}
			createIngress(t, c, strings.NewReplacer("NAMESPACE", ns.Name, "name: shop,", "name: "+name+",", "shop-tls", name, "reference.", name+".").Replace(referring))
		}
	}
	if err := c.Create(t.Context(), marked(namespaces[0], "shared", "marker-of-a-shared-one", corev1.SecretTypeTLS, pair)); err != nil {
		t.Fatal(err)
	}
	for n := range shared {
		name := fmt.Sprint("shared-", n)
		createIngress(t, c, strings.NewReplacer("NAMESPACE", namespaces[0], "name: shop,", "name: "+name+",", "shop-tls", "shared", "reference.", name+".").Replace(referring))
	}
	t.Cleanup(func() {
		for _, namespace := range namespaces {
			for _, kind := range []client.Object{&networkingv1.Ingress{}, &routev1.Route{}, &corev1.Secret{}} {
				if err := c.DeleteAllOf(context.Background(), kind, client.InNamespace(namespace)); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for start := 1; start <= 2; start++ {
		t.Run(fmt.Sprint("start ", start), func(t *testing.T) {
			startOperatorWatched(t, dns.Options{}, operator.Options{}, ingress.Options{}, l.between)
			for n, namespace := range namespaces {
				wantRoutes(t, c, namespace, count/3+shared*max(0, 1-n))
			}
			eventually(t, func() error { return wantReads(l, namespaces, count/3, start) })
		})
		if err := wantReads(l, namespaces, count/3, start); err != nil {
			t.Error(err)
		}
	}
}

func wantReads(l *listener, namespaces []string, each, starts int) error {
	for _, namespace := range namespaces {
		for n := range each {
			if _, got := l.counts("", fmt.Sprintf("%s/own-%d", namespace, n)); got != starts {
				return fmt.Errorf("%s/own-%d was read %d times, want %d", namespace, n, got, starts)
			}
		}
	}
	if _, got := l.counts("", namespaces[0]+"/shared"); got < starts || got > starts*4 { // 4 workers may miss it at the same time
		return fmt.Errorf("the shared one was read %d times", got)
	}
	return nil
}
