package admission

import (
	"strings"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/operator/deployment"
	"github.com/fairlead/fairlead/operator/effective"
	"github.com/fairlead/fairlead/operator/status"
	"github.com/fairlead/fairlead/test/build"
)

// TestHAProxyVersion: an IngressController gets the version that it asks for, or
// is told which there are.
func TestHAProxyVersion(t *testing.T) {
	t.Parallel()
	o := effective.Defaults{Domain: "apps.example.com", RouterImage: "router:1", HAProxyImages: map[string]string{"3.2": "router:2"}}
	for _, test := range []struct {
		name        string
		wanted      operatorv1.HAProxyVersion
		clusterWide string
		image       string
		effective   operatorv1.HAProxyVersion
		fault       string
	}{
		{name: "default", image: "router:1", effective: "3.4"},
		{name: "asked for", wanted: "3.2", image: "router:2", effective: "3.2"},
		{name: "the default by name", wanted: "3.4", image: "router:1", effective: "3.4"},
		{name: "of the cluster", clusterWide: "3.2", image: "router:2", effective: "3.2"},
		{name: "its own wins", wanted: "3.4", clusterWide: "3.2", image: "router:1", effective: "3.4"},
		{name: "of the cluster, without image", clusterWide: "2.8", image: "router:1", effective: "3.4"},
		{name: "without image", wanted: "2.8", fault: "spec.haproxyVersion: there is no image with HAProxy 2.8, only with 3.2, 3.4"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			in := status.Input{IC: build.IngressController()}
			in.IC.Spec.HAProxyVersion = test.wanted
			in.Settings = effective.Of(in.IC, effective.Cluster{HAProxy: test.clusterWide}, o)
			in.Faults = Validate(in.IC, in.Settings, nil)
			if text := status.Messages(in.Faults); !strings.Contains(text, test.fault) || (text != "") != (test.fault != "") {
				t.Fatalf("faults %q, want %q", text, test.fault)
			}
			got, _ := status.Of(in)
			if got.EffectiveHAProxyVersion != test.effective {
				t.Errorf("the status tells %q, want %q", got.EffectiveHAProxyVersion, test.effective)
			}
			if test.fault != "" {
				return
			}
			pod := deployment.Desired(in.Settings).Spec.Template.Spec
			for _, c := range append(pod.InitContainers, pod.Containers...) {
				if c.Image != test.image {
					t.Errorf("container %s has the image %s, want %s", c.Name, c.Image, test.image)
				}
			}
		})
	}
}
