package notice

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
)

// server keeps Events, and nothing else.
type server struct {
	client.Client
	scheme *runtime.Scheme
	texts  []string
}

func (s *server) Scheme() *runtime.Scheme { return s.scheme }

func (s *server) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	e, ok := o.(*corev1.Event)
	if !ok {
		return fmt.Errorf("create %T", o)
	}
	s.texts = append(s.texts, e.Reason+" "+e.Message)
	return nil
}

func testRecorder(t *testing.T) (*Recorder, *server) {
	t.Helper()
	s := &server{scheme: runtime.NewScheme()}
	if err := clientgoscheme.AddToScheme(s.scheme); err != nil {
		t.Fatal(err)
	}
	return newRecorder(s, "test", slog.New(slog.DiscardHandler)), s
}

// written writes what waits, and returns it.
func written(t *testing.T, r *Recorder, s *server) string {
	t.Helper()
	s.texts = nil
	for len(r.queue) > 0 {
		r.write(t.Context(), <-r.queue)
	}
	return strings.Join(s.texts, "; ")
}

func finding(text string) api.Finding {
	return api.Finding{Reason: api.ReasonBackendNotFound, Message: text, Severity: api.SeverityWarning}
}

func ingressOf(namespace, name string) *networkingv1.Ingress {
	return &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "1"}}
}

// TestTell: findings with one reason are told each, once, and again when they
// change or come back.
func TestTell(t *testing.T) {
	t.Parallel()
	r, s := testRecorder(t)
	i := ingressOf("ns", "a")
	steps := []struct {
		findings []api.Finding
		want     string
	}{
		{[]api.Finding{finding("Service a"), finding("Service b"), finding("Service a")}, "BackendNotFound Service a; BackendNotFound Service b"},
		{[]api.Finding{finding("Service a"), finding("Service b")}, ""},
		{[]api.Finding{finding("Service a"), finding("Service c")}, "BackendNotFound Service c"},
		{[]api.Finding{finding("Service b")}, "BackendNotFound Service b"},
		{nil, ""},
		{[]api.Finding{finding("Service b")}, "BackendNotFound Service b"},
	}
	for n, step := range steps {
		all := r.Publish(i, step.findings)
		if got := written(t, r, s); got != step.want || !all {
			t.Errorf("step %d: %q, all told: %t, want %q", n, got, all, step.want)
		}
	}
	r.Publish(i, nil)
	if len(r.said) > 0 {
		t.Errorf("what is good is remembered: %v", r.said)
	}
}

// TestNamespaceBudget: a namespace with endless findings leaves room for others,
// and what was not told is told later.
func TestNamespaceBudget(t *testing.T) {
	t.Parallel()
	r, s := testRecorder(t)
	var many []api.Finding
	for n := range burst + 50 {
		many = append(many, finding(fmt.Sprint("Service ", n)))
	}
	if r.Publish(ingressOf("loud", "a"), many) {
		t.Error("all was told")
	}
	if n := strings.Count(written(t, r, s), ";") + 1; n != burst {
		t.Errorf("%d told, want %d", n, burst)
	}
	if !r.Publish(ingressOf("quiet", "a"), many[:2]) || written(t, r, s) != "BackendNotFound Service 0; BackendNotFound Service 1" {
		t.Error("another namespace is not told about")
	}
	if said := len(r.said[client.ObjectKey{Namespace: "loud", Name: "a"}]); said != burst {
		t.Errorf("%d are remembered as told", said)
	}
}

// TestText: what a tenant wrote stays on its line, and long texts are cut.
func TestText(t *testing.T) {
	t.Parallel()
	r, _ := testRecorder(t)
	a, err := r.event(ingressOf("ns", strings.Repeat("n", 253)), corev1.EventTypeWarning, "R", "a\n\x1b[2Jb"+strings.Repeat("é", longest))
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(a.Message, "\n\x1b") || len(a.Message) > longest+len("…") || !utf8.ValidString(a.Message) || len(a.Name) > 253 {
		t.Errorf("%q, name of %d", a.Message, len(a.Name))
	}
	b, err := r.event(ingressOf("ns", "n"), corev1.EventTypeWarning, "R", "other")
	if err != nil || b.Name == a.Name {
		t.Errorf("name %s: %v", b.Name, err)
	}
	c, _ := r.event(ingressOf("ns", "n"), corev1.EventTypeWarning, "R", "other")
	if c.Name != b.Name {
		t.Error("the same has another name")
	}
}
