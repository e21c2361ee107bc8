package aws_test

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/test/fakeaws"
)

// TestCredentials: keys of a Secret in either form, changed while running, and
// a role by a token. Without any, the error says so.
func TestCredentials(t *testing.T) {
	cloud := fakeaws.New(fakeaws.Options{})
	server := httptest.NewServer(cloud)
	defer server.Close()
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := aws.Config(t.Context(), aws.Access{
		Region: "eu-central-1", Endpoint: server.URL, MaxBackoff: time.Millisecond, Credentials: dir,
		Now: func() time.Time { return time.Now().Add(-6 * time.Second) }, // what was read seconds ago is old
	})
	if err != nil {
		t.Fatal(err)
	}
	h := aws.New(cfg, aws.Options{Cluster: "test"})
	key := func() string {
		t.Helper()
		if _, err := h.Identity(t.Context()); err != nil {
			t.Fatal(err)
		}
		calls := cloud.Since(0)
		return calls[len(calls)-1].AccessKey
	}
	if _, err := h.Identity(t.Context()); hook.ClassOf(err) != hook.ClassDenied {
		t.Errorf("without credentials: %v", err)
	}
	write("aws_access_key_id", "FIRST\n")
	write("aws_secret_access_key", "secret\n")
	if got := key(); got != "FIRST" {
		t.Errorf("key %q", got)
	}
	write("aws_access_key_id", "SECOND")
	if got := key(); got != "SECOND" {
		t.Errorf("key %q after the Secret changed", got)
	}
	write("credentials", "[default]\naws_access_key_id = THIRD\naws_secret_access_key = secret\n")
	if got := key(); got != "THIRD" {
		t.Errorf("key %q from a file", got)
	}
	write("token", "a token of the ServiceAccount")
	write("credentials", "[default]\nrole_arn = arn:aws:iam::123456789012:role/fairlead\nweb_identity_token_file = "+filepath.Join(dir, "token")+"\n")
	if got := key(); got != "ASIATEST" {
		t.Errorf("key %q from a role", got)
	}
}

// TestWebIdentityEndpoint: with a role by a token, as the pods of EKS have it,
// STS is asked at the address that the environment names.
func TestWebIdentityEndpoint(t *testing.T) {
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_STS"} {
		t.Run(name, func(t *testing.T) {
			cloud := fakeaws.New(fakeaws.Options{})
			server := httptest.NewServer(cloud)
			defer server.Close()
			token := filepath.Join(t.TempDir(), "token")
			if err := os.WriteFile(token, []byte("a token of the ServiceAccount"), 0o600); err != nil {
				t.Fatal(err)
			}
			for k, v := range map[string]string{
				"AWS_EC2_METADATA_DISABLED": "true", "AWS_ACCESS_KEY_ID": "", "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/fairlead",
				"AWS_WEB_IDENTITY_TOKEN_FILE": token, "AWS_ROLE_SESSION_NAME": "operator", "AWS_STS_REGIONAL_ENDPOINTS": "regional", name: server.URL,
			} {
				t.Setenv(k, v)
			}
			for _, region := range []string{"eu-central-1", ""} {
				cfg, err := aws.Config(t.Context(), aws.Access{Region: region, MaxBackoff: time.Millisecond, MaxAttempts: 1, Cluster: func(context.Context) (aws.Cluster, error) {
					return aws.Cluster{Region: "eu-central-1"}, nil
				}})
				if err != nil {
					t.Fatal(err)
				}
				mark := cloud.Mark()
				if _, err := aws.New(cfg, aws.Options{Cluster: "test"}).Identity(t.Context()); err != nil {
					t.Errorf("region %q: %v", region, err)
				}
				if calls := cloud.Since(mark); len(calls) != 2 || calls[0].Action != "AssumeRoleWithWebIdentity" {
					t.Errorf("region %q: calls %v", region, calls)
				}
			}
		})
	}
}
