package main

import (
	"os"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

// TestLimit: three routers at a time that make their processes take all that
// they can get do not reach the pod's memory limit, which would end the speaker.
func TestLimit(t *testing.T) {
	const sessions, speaker = 3, 100 << 20
	text, err := os.ReadFile("../../config/lbprovider/speaker.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var set appsv1.DaemonSet
	if err := yaml.Unmarshal(text, &set); err != nil {
		t.Fatal(err)
	}
	limit := set.Spec.Template.Spec.Containers[0].Resources.Limits.Memory().Value()
	if most := int64(sessions*maxData + speaker); most > limit {
		t.Errorf("%d sessions and the speaker may take %d bytes, the pod %d", sessions, most, limit)
	}
}
