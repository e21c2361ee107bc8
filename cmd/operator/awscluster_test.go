package main

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws"
)

// TestAWSCluster: what the cluster says of its place in AWS, on OpenShift and
// elsewhere.
func TestAWSCluster(t *testing.T) {
	t.Parallel()
	nodes := []corev1.Node{{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{corev1.LabelTopologyRegion: "eu-west-1"}},
		Spec:       corev1.NodeSpec{ProviderID: "aws:///eu-west-1a/i-1"},
	}}
	platform := func(p *configv1.PlatformStatus) *configv1.Infrastructure {
		return &configv1.Infrastructure{Status: configv1.InfrastructureStatus{PlatformStatus: p}}
	}
	known := []aws.Node{{Name: "a", Region: "eu-west-1", ProviderID: "aws:///eu-west-1a/i-1"}}
	for _, c := range []struct {
		name         string
		installation *configv1.Infrastructure
		want         aws.Cluster
	}{
		{"OpenShift on AWS", platform(&configv1.PlatformStatus{AWS: &configv1.AWSPlatformStatus{
			Region: "eu-west-1", ServiceEndpoints: []configv1.AWSServiceEndpoint{{Name: "ec2", URL: "https://ec2.example.com"}},
		}}), aws.Cluster{Region: "eu-west-1", Endpoints: map[string]string{"ec2": "https://ec2.example.com"}, Nodes: known}},
		{"OpenShift elsewhere", platform(&configv1.PlatformStatus{}), aws.Cluster{Nodes: known}},
		{"not OpenShift", platform(nil), aws.Cluster{Nodes: known}},
	} {
		if diff := cmp.Diff(c.want, awsClusterFrom(c.installation, nodes)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"no such kind": {&meta.NoKindMatchError{}, true}, "no such object": {apierrors.NewNotFound(schema.GroupResource{}, "cluster"), true},
		"not allowed": {apierrors.NewForbidden(schema.GroupResource{}, "cluster", nil), true}, "no answer": {errors.New("timeout"), false},
	} {
		if absent(c.err) != c.want {
			t.Errorf("%s: %v", name, !c.want)
		}
	}
}
