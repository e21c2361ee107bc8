package policy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/model"
)

// TestRows: a row of the table has a parser, a line of documentation and a case
// against real HAProxy, whatever it protects.
func TestRows(t *testing.T) {
	t.Parallel()
	var cases strings.Builder
	files, err := filepath.Glob("../../test/cases/*.go")
	texts, _ := filepath.Glob("../../test/cases/testdata/*.txtar")
	files = append(files, texts...)
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		cases.Write(text)
	}
	for _, row := range table {
		if row.Values == "" || row.Doc == "" || len(row.Terminations) == 0 {
			t.Errorf("%s is not documented: values %q, effect %q, terminations %q", row.Key, row.Values, row.Doc, row.Terminations)
		}
		// It chooses routers, and test/api TestIngress has it.
		if row.Key != api.AnnotationIngressController && !strings.Contains(cases.String(), row.Key) {
			t.Errorf("%s has no case in test/cases", row.Key)
		}
		if !parses(row.Key) {
			t.Errorf("%s: what cannot be read is taken, or closes as if it protected", row.Key)
		}
	}
}

// parses reports whether a value that nobody means is noticed, and closes the
// object's paths where the annotation protects.
func parses(key string) bool {
	const nonsense = "\x00"
	for i := range table {
		row := &table[i]
		if row.Key != key {
			continue
		}
		if row.Key == api.AnnotationIngressController && row.protects == nil {
			return true
		}
		annotations := map[string]string{api.AnnotationLimit: "true", AnnotationLimit: "1/s"}
		annotations[key] = nonsense
		_, problems := Read(annotations, Spec{}, model.Reencrypt, false)
		return len(problems) == 1 && problems[0].Key == key && problems[0].Closes == (row.protects != nil)
	}
	return false
}

// TestServicePolicy: what is not for Services closes only if it protects, and annotations
// of Services that others read are none of the router's business.
func TestServicePolicy(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"fairlead.dev/hash-by": "invalid", "fairlead.dev/health-path": "invalid", "fairlead.dev/connect-timeout": "invalid", "fairlead.dev/health-type": "invalid",
		"fairlead.dev/hash-bi": "unknown", "fairlead.dev/timeout-connect": "", "fairlead.dev/app-root": "unknown",
		"fairlead.dev/allow": "closes", "fairlead.dev/alow": "closes", api.AnnotationPolicy: "closes",
		"haproxy.router.openshift.io/balance": "", api.AnnotationAllowlist: "",
		api.AnnotationEndpoints: "", api.AnnotationDefaultPool: "", api.AnnotationSharingScope: "", api.AnnotationPreempt: "", api.AnnotationAdoptDNSRecord: "", api.AnnotationTargetDualStack: "",
		"fairlead.dev/aws-target-source": "", "fairlead.dev/aws-wafv2-acl-arn": "", "fairlead.dev/managed-annotations": "", "fairlead.dev/domain": "", "fairlead.dev/attributes": "",
	} {
		p := ReadService(&metav1.ObjectMeta{Annotations: map[string]string{key: "?"}})
		got := ""
		if p != nil {
			for _, problem := range p.problems {
				switch {
				case problem.Closes:
					got += "closes"
				case problem.Reason == api.ReasonUnknownAnnotation:
					got += "unknown"
				default:
					got += "invalid"
				}
			}
			if p.source != nil {
				got += "set"
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
	p := ReadService(&metav1.ObjectMeta{Annotations: map[string]string{AnnotationHashBy: "path", AnnotationHealthPath: "/ok", AnnotationConnectTimeout: "1s"}})
	if p == nil || p.source == nil || !slices.Equal(p.source.groups(), []Group{GroupTimeouts, GroupHealth, GroupLoadBalancing}) || len(p.problems) > 0 {
		t.Errorf("read %+v", p)
	}
	for i := range table {
		if row := &table[i]; row.OfServices && (row.protects != nil || row.Group == "") {
			t.Errorf("%s cannot be for Services: it protects, or is in no group", row.Key)
		}
	}
}

// TestOurs: objects of the Gateway API keep what the table has, and nothing else.
func TestOurs(t *testing.T) {
	t.Parallel()
	for _, a := range Annotations() {
		if !Ours(a.Key) {
			t.Errorf("%s would not be seen", a.Key)
		}
	}
	if Ours("kubectl.kubernetes.io/last-applied-configuration") {
		t.Error("what kubectl leaves behind would be kept")
	}
}
