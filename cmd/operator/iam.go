package main

import (
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws"
	"github.com/fairlead/fairlead/lbprovider/cloud/aws/iam"
)

const iamUsage = `operator iam-policy prints the IAM policy that the operator needs in AWS with the same flags.

Example:
  operator iam-policy --cloud=aws --cloud-cluster=mycluster --dns=route53 --dns-zone=Z0123456789 --account=123456789012

Flags:
`

// iamPolicy is the subcommand iam-policy: the least that AWS must allow for a
// configuration, by the flags that the operator has.
func iamPolicy(args []string, out io.Writer) error {
	var access aws.Access
	var names dnsOptions
	var balancers cloudOptions
	var o iam.Options
	f := flag.NewFlagSet("operator iam-policy", flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprint(f.Output(), iamUsage)
		f.PrintDefaults()
	}
	awsFlags(f, &access)
	names.flags(f)
	balancers.flags(f)
	f.StringVar(&o.Account, "account", "", "`number` of the AWS account; by default any")
	f.StringVar(&o.Partition, "partition", "", "`name` of the partition, such as aws-cn or aws-us-gov; by default that of --aws-region, or aws")
	var file configFile
	file.flags(f)
	if err := f.Parse(args); err != nil {
		return err
	}
	if err := file.read(f); err != nil {
		return err
	}
	o.Cluster, o.Balancers, o.NodeGroups, o.Names = balancers.cluster, balancers.hook == "aws", balancers.nodeRules, names.provider == "route53"
	switch {
	case f.NArg() > 0:
		return fmt.Errorf("unexpected argument %q; see --help", f.Arg(0))
	case !o.Balancers && !o.Names:
		return errors.New("neither --cloud=aws nor --dns=route53: nothing of AWS is needed")
	case o.Balancers && o.Cluster == "":
		return errors.New("--cloud needs --cloud-cluster, the name of this cluster in the cloud")
	}
	if o.Partition == "" {
		o.Partition = iam.Partition(access.Region)
	}
	for _, z := range append(names.zones, names.privateZones...) {
		if z.ID == "" {
			o.Zones = nil // found by tags: it may be any
			break
		}
		o.Zones = append(o.Zones, z.ID)
	}
	for _, role := range []string{access.RoleARN, names.privateRole} {
		if role != "" {
			o.Roles = append(o.Roles, role)
		}
	}
	text, err := iam.Policy(o)
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}
