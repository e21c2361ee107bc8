package explain

import (
	"slices"
	"testing"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
)

func TestOpenPath(t *testing.T) {
	t.Parallel()
	o := NewObjects()
	for _, r := range []struct{ name, host, path, list string }{
		{"open", "a.test", "", ""},
		{"beside", "a.test", "/help", ""},
		{"protected", "a.test", "/admin", "10.0.0.0/8"},
		{"alone", "b.test", "/admin", "10.0.0.0/8"},
		{"other", "c.test", "", ""},
	} {
		object := &routev1.Route{
			ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: r.name},
			Spec:       routev1.RouteSpec{Host: r.host, Path: r.path, To: routev1.RouteTargetReference{Name: "s"}},
		}
		if r.list != "" {
			object.Annotations = map[string]string{api.AnnotationAllowlist: r.list}
		}
		o.Add(object)
	}
	w, err := NewSnapshot(o, Options{Now: time.Unix(0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, f := range w.Lint("").Findings {
		if f.Reason == api.ReasonOpenPath {
			told = append(told, f.Object)
		}
	}
	if want := []string{"route/n/open"}; !slices.Equal(told, want) {
		t.Errorf("OpenPath of %v, want %v", told, want)
	}
}
