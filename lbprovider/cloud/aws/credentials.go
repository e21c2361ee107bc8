package aws

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// folder reads credentials from a folder that a Secret is mounted as, with the
// keys that OpenShift's Secrets have: "credentials", a file as of the AWS
// command line, or "aws_access_key_id" and "aws_secret_access_key". It is read
// again every few seconds, so a changed Secret needs no restart. An empty folder leaves
// it to the SDK's default chain.
type folder struct {
	dir string
	cfg sdk.Config // with the default chain
	now func() time.Time
}

// folderTime is how long what was read holds. The kubelet takes up to a minute
// to change the files, and nothing is to be added to that.
const folderTime = 5 * time.Second

// Retrieve reads the folder.
func (f folder) Retrieve(ctx context.Context) (sdk.Credentials, error) {
	profile := filepath.Join(f.dir, "credentials")
	if _, err := os.Stat(profile); err == nil {
		return f.profile(ctx, profile)
	}
	c := sdk.Credentials{Source: f.dir, CanExpire: true, Expires: f.now().Add(folderTime)}
	for name, into := range map[string]*string{
		"aws_access_key_id": &c.AccessKeyID, "aws_secret_access_key": &c.SecretAccessKey, "aws_session_token": &c.SessionToken,
	} {
		text, err := os.ReadFile(filepath.Join(f.dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return c, fmt.Errorf("read %s: %w", name, err)
		}
		*into = strings.TrimSpace(string(text))
	}
	switch {
	case c.AccessKeyID == "" && c.SecretAccessKey == "" && f.cfg.Credentials != nil:
		return f.cfg.Credentials.Retrieve(ctx)
	case !c.HasKeys():
		return c, fmt.Errorf("%s has only one of aws_access_key_id and aws_secret_access_key", f.dir)
	}
	return c, nil
}

// profile reads the default profile of a credentials file: static keys, or a
// role with a token file.
func (f folder) profile(ctx context.Context, file string) (sdk.Credentials, error) {
	p, err := config.LoadSharedConfigProfile(ctx, "default", func(o *config.LoadSharedConfigOptions) {
		o.CredentialsFiles, o.ConfigFiles = []string{file}, []string{file}
	})
	if err != nil {
		return sdk.Credentials{}, fmt.Errorf("read %s: %w", file, err)
	}
	if p.RoleARN != "" && p.WebIdentityTokenFile != "" {
		return stscreds.NewWebIdentityRoleProvider(sts.NewFromConfig(f.cfg), p.RoleARN, stscreds.IdentityTokenFile(p.WebIdentityTokenFile)).Retrieve(ctx)
	}
	c := p.Credentials
	if !c.HasKeys() {
		return c, fmt.Errorf("%s has no keys in the profile default", file)
	}
	c.CanExpire, c.Expires = true, f.now().Add(folderTime)
	return c, nil
}

// webIdentity has the role that the environment names by a token, as EKS gives
// it to pods, asked for in the region and at the address of this configuration.
// The SDK's default chain makes its own client of STS before those are known.
func webIdentity(cfg *sdk.Config) error {
	env, err := config.NewEnvConfig()
	if err != nil {
		return fmt.Errorf("read the environment of the AWS SDK: %w", err)
	}
	if env.Credentials.HasKeys() || env.WebIdentityTokenFilePath == "" || env.RoleARN == "" {
		return nil
	}
	provider := stscreds.NewWebIdentityRoleProvider(sts.NewFromConfig(cfg.Copy()), env.RoleARN, stscreds.IdentityTokenFile(env.WebIdentityTokenFilePath),
		func(o *stscreds.WebIdentityRoleOptions) { o.RoleSessionName = env.RoleSessionName })
	cfg.Credentials = sdk.NewCredentialsCache(provider)
	return nil
}
