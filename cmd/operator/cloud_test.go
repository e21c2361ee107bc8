package main

import (
	"flag"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws"
)

// TestUnclassed: which Services without a class are not for the default.
func TestUnclassed(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"": true, "nlb": true, "alb": true, "external": false, "nlb-ip": false} {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"service.beta.kubernetes.io/aws-load-balancer-type": value}}}
		if got := unclassed(s); got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
}

// TestCloudFlags: a wrong word is named with its flag.
func TestCloudFlags(t *testing.T) {
	t.Parallel()
	for args, says := range map[string]string{"--cloud=gcp": "gcp", "--cloud=aws --aws-ownership=theirs": "--aws-ownership"} {
		var c cloudOptions
		f := flag.NewFlagSet("operator", flag.ContinueOnError)
		c.flags(f)
		if err := f.Parse(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.choose(t.Context(), aws.Access{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", args, err)
		}
	}
}
