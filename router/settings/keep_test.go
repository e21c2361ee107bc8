package settings_test

import (
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/settings"
)

// TestKeep: requests are kept where the annotation has that very value; another one is a finding, and keeps none.
func TestKeep(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		keeps    bool
		findings int
	}{"failed": {true, 0}, "off": {}, "": {false, 1}, "Failed": {false, 1}, "all\r\n": {false, 1}} {
		s, findings := settings.From(&operatorv1.IngressController{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{api.AnnotationKeepRequests: text}}}, settings.Flags{})
		if s.Render.KeepFailed != want.keeps || len(findings) != want.findings {
			t.Errorf("%q: %t, findings %v", text, s.Render.KeepFailed, findings)
		}
	}
	if s, findings := settings.From(&operatorv1.IngressController{}, settings.Flags{}); s.Render.KeepFailed || len(findings) > 0 {
		t.Errorf("without the annotation: %t, findings %v", s.Render.KeepFailed, findings)
	}
}
