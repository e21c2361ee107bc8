package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestBothHelms: Helm 3 and Helm 4 write the same objects, with all that values can add and take away.
func TestBothHelms(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--kube-version", "1.36.3"},
		{"--kube-version", "1.30.0", "--set", "crds.install=false,networkPolicies.enabled=false,speaker.enabled=false,canary.enabled=false"},
		{"--kube-version", "1.36.3", "--set", "monitoring.enabled=true,image.tag=v1,image.pullSecrets[0].name=mine,operator.extraArgs[0]=--cloud=aws,speaker.extraArgs[0]=--l2-isolation=announce"},
	} {
		var written []map[string]*unstructured.Unstructured
		for _, program := range helms {
			folder, helm := chart(t, program)
			out, err := helm(append([]string{"template", "fairlead", folder, "--namespace", "fairlead"}, args...)...)
			if err != nil {
				t.Fatalf("%s: %v", program, err)
			}
			written = append(written, objects(t, out))
		}
		if d := cmp.Diff(written[0], written[1]); d != "" {
			t.Errorf("%q: (-helm 3 +helm 4):\n%s", args, d)
		}
	}
}
