package policy

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// TestBandwidth: a limit that cannot be read is none, and closes nothing.
func TestBandwidth(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"10Ki": 10 << 10, "1Gi": 1 << 30, "20480": 20480, "10k": 0, "9Ki": 0, "2Gi": 0, "0": 0, "-1": 0, "100m": 0} {
		q := resource.MustParse(text)
		p := &model.Policy{Bandwidth: model.Bandwidth{Download: 7, Upload: 7}}
		problems := compileBandwidth(&v1alpha1.Bandwidth{Download: &q}, p)
		if p.Bandwidth.Download != want || p.Bandwidth.Upload != 0 || (len(problems) == 1) != (want == 0) || len(problems) == 1 && problems[0].Closes {
			t.Errorf("%s: %+v, %+v", text, p.Bandwidth, problems)
		}
	}
	spec, problems := Read(map[string]string{AnnotationDownload: "1Mi", AnnotationUpload: "20Ki"}, Spec{}, model.Plain, false)
	if b := spec.Groups.Bandwidth; len(problems) > 0 || b == nil || b.Download.Value() != 1<<20 || b.Upload.Value() != 20<<10 {
		t.Errorf("annotations: %+v, %+v", b, problems)
	}
	for _, text := range []string{"", "fast", "1e6", "1M", "5Ki", "10Ki\r\n", "10Ki|"} {
		if spec, problems := Read(map[string]string{AnnotationDownload: text}, Spec{}, model.Plain, false); spec.Groups.Bandwidth != nil || len(problems) != 1 {
			t.Errorf("%q: %+v, %+v", text, spec.Groups.Bandwidth, problems)
		}
	}
}
