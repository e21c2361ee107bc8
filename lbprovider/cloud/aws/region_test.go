package aws_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/test/fakeaws"
)

// alone takes away everything in the environment that says where we are.
func alone(t *testing.T, m *fakeaws.Metadata) {
	t.Helper()
	for _, key := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_EC2_METADATA_DISABLED"} {
		t.Setenv(key, "")
	}
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	if m == nil {
		t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
		return
	}
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.URL)
}

// TestRegion: a flag, the environment, OpenShift, the nodes, the machine: the
// first that names the region counts, and nothing is guessed.
func TestRegion(t *testing.T) {
	node := func(name, region, providerID string) aws.Node {
		return aws.Node{Name: name, Region: region, ProviderID: providerID}
	}
	full := aws.Cluster{Region: "eu-west-3", Nodes: []aws.Node{node("a", "eu-west-4", "")}}
	for _, c := range []struct {
		name     string
		flag     string
		env      map[string]string
		cluster  aws.Cluster
		fails    error
		metadata *fakeaws.Metadata
		want     string
		says     []string // parts of the error
	}{
		{name: "the flag wins", flag: "eu-west-1", env: map[string]string{"AWS_REGION": "eu-west-2"}, cluster: full, want: "eu-west-1"},
		{name: "then the environment", env: map[string]string{"AWS_REGION": "eu-west-2"}, cluster: full, want: "eu-west-2"},
		{name: "in its old form too", env: map[string]string{"AWS_DEFAULT_REGION": "eu-west-2"}, cluster: full, want: "eu-west-2"},
		{name: "then OpenShift", cluster: full, want: "eu-west-3"},
		{name: "then a node's label", cluster: aws.Cluster{Nodes: []aws.Node{node("a", "", ""), node("b", "eu-west-4", "aws:///eu-west-4b/i-1")}}, metadata: &fakeaws.Metadata{Region: "eu-west-5"}, want: "eu-west-4"},
		{name: "or its zone", cluster: aws.Cluster{Nodes: []aws.Node{node("a", "", "aws:///us-gov-east-1c/i-1")}}, want: "us-gov-east-1"},
		{name: "with an account", cluster: aws.Cluster{Nodes: []aws.Node{node("a", "", "aws://123456789012/ap-southeast-2a/i-1")}}, want: "ap-southeast-2"},
		{name: "a local zone tells nothing", cluster: aws.Cluster{Nodes: []aws.Node{node("a", "", "aws:///us-west-2-lax-1a/i-1"), node("b", "", "kind://docker/x")}}, says: []string{"--aws-region", "AWS_REGION", "not known"}},
		{name: "then the machine", metadata: &fakeaws.Metadata{Region: "eu-west-5"}, want: "eu-west-5"},
		{name: "nodes disagree", cluster: aws.Cluster{Nodes: []aws.Node{node("a", "eu-west-1", ""), node("b", "eu-west-2", "")}}, metadata: &fakeaws.Metadata{Region: "eu-west-5"}, says: []string{"node a is in eu-west-1", "node b in eu-west-2", "--aws-region"}},
		{name: "nobody knows", says: []string{"--aws-region", "AWS_REGION", "not known"}},
		{name: "the machine does not answer", metadata: &fakeaws.Metadata{Silent: true}, says: []string{"--aws-region", "does not either"}},
		{name: "the cluster cannot be asked", fails: errors.New("forbidden"), says: []string{"ask the cluster", "forbidden"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			alone(t, c.metadata)
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			cfg, err := aws.Config(t.Context(), aws.Access{Region: c.flag, Cluster: func(context.Context) (aws.Cluster, error) { return c.cluster, c.fails }})
			if cfg.Region != c.want && err == nil || (err == nil) != (c.want != "") {
				t.Fatalf("region %q, %v; want %q", cfg.Region, err, c.want)
			}
			for _, part := range c.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error %q does not say %q", err, part)
				}
			}
		})
	}
}

// TestEndpoints: the addresses that OpenShift has for AWS's services are used,
// and what the environment says wins.
func TestEndpoints(t *testing.T) {
	cloud := fakeaws.New(fakeaws.Options{})
	server := httptest.NewServer(cloud)
	defer server.Close()
	alone(t, nil)
	access := aws.Access{Region: "eu-central-1", MaxAttempts: 1, Cluster: func(context.Context) (aws.Cluster, error) {
		return aws.Cluster{Endpoints: map[string]string{"sts": server.URL}}, nil
	}}
	identity := func() error {
		t.Helper()
		cfg, err := aws.Config(t.Context(), access)
		if err != nil {
			t.Fatal(err)
		}
		_, err = aws.New(cfg, aws.Options{Cluster: "test"}).Identity(t.Context())
		return err
	}
	if err := identity(); err != nil || len(cloud.Since(0)) != 1 {
		t.Errorf("%v, %d calls", err, len(cloud.Since(0)))
	}
	t.Setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:1")
	if err := identity(); err == nil || len(cloud.Since(0)) != 1 {
		t.Errorf("the environment does not win: %v, %d calls", err, len(cloud.Since(0)))
	}
}

// TestVPC: where no node is a machine of EC2, the VPC is the one that is tagged
// for the cluster, or that of our own machine.
func TestVPC(t *testing.T) {
	const tag = "kubernetes.io/cluster/test"
	for _, c := range []struct {
		name     string
		tagged   []string
		metadata *fakeaws.Metadata
		says     string
	}{
		{name: "by tag", tagged: []string{fakeaws.DefaultVPC}},
		{name: "of our machine", metadata: &fakeaws.Metadata{VPC: fakeaws.DefaultVPC}},
		{name: "nobody knows", says: "--aws-vpc"},
		{name: "two are tagged", tagged: []string{fakeaws.DefaultVPC, "vpc-2"}, metadata: &fakeaws.Metadata{VPC: "vpc-2"}, says: "vpc-1 and vpc-2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(t, fakeaws.Options{})
			alone(t, c.metadata)
			for _, id := range c.tagged {
				b.cloud.TagVPC(id, map[string]string{tag: "shared"})
			}
			b.restart()
			spec := routerSpec(3)
			for i := range spec.Targets.Nodes {
				spec.Targets.Nodes[i].ProviderID = ""
			}
			spec.Annotations[prefix+"nlb-target-type"], spec.Annotations["fairlead.dev/aws-target-source"] = "ip", "node"
			mark := b.cloud.Mark()
			start := time.Now()
			_, err := b.hook.Ensure(t.Context(), spec)
			switch {
			case c.says == "" && (err != nil || len(b.one().Listeners) != 2 || b.one().Listeners[0].Group.Targets[0] != "10.0.1.10:30080"):
				t.Errorf("after %v: %v", time.Since(start), err)
			case c.says != "" && (hook.ClassOf(err) != hook.ClassInvalidConfig || !strings.Contains(err.Error(), c.says)):
				t.Errorf("got %v, want %q", err, c.says)
			case c.says != "" && len(fakeaws.Changes(b.cloud.Since(mark))) > 0:
				t.Errorf("changes: %v", fakeaws.Changes(b.cloud.Since(mark)))
			}
		})
	}
}
