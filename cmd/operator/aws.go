package main

import (
	"flag"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws"
	cloud "github.com/fairlead/fairlead/lbprovider/cloud/controller"
)

// awsFlags say how AWS is reached, for load balancers and names. What they
// leave open comes from the environment, as with every program that uses the
// AWS SDK: AWS_REGION, AWS_ACCESS_KEY_ID, a web identity, a profile.
func awsFlags(f *flag.FlagSet, a *aws.Access) {
	f.StringVar(&a.Region, "aws-region", "", "AWS `region` of the cluster; by default what AWS_REGION says, then infrastructures.config.openshift.io/cluster, the nodes, and the metadata service of the machine")
	f.StringVar(&a.Endpoint, "aws-endpoint", "", "`URL` in place of AWS's own addresses, for tests")
	f.StringVar(&a.Credentials, "aws-credentials", "", "`folder` that a Secret is mounted as, with the file credentials, or aws_access_key_id and aws_secret_access_key; read again every minute")
	f.StringVar(&a.RoleARN, "aws-role", "", "`ARN` of a role to assume")
	f.StringVar(&a.ExternalID, "aws-external-id", "", "external `id` that the role asks for")
}

// observed counts the calls of AWS in metrics, by any part of the operator.
func observed(a aws.Access, registry prometheus.Registerer) (aws.Access, error) {
	calls, err := cloud.NewCalls(registry)
	a.Observe = func(service, action, code string, took time.Duration) {
		calls.Observe(service, action, code, aws.Throttled(code), took)
	}
	return a, err
}
