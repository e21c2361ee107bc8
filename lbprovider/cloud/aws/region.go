package aws

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
)

// Cluster is what a cluster says of its region and of AWS's endpoints.
type Cluster struct {
	// Region is the one that OpenShift recorded at its installation, or empty.
	Region string
	// Endpoints replace AWS's own addresses, by the name that OpenShift has for a
	// service: "elasticloadbalancing", "ec2", "route53",
	// "sts", "acm", "wafv2", "tagging".
	Endpoints map[string]string
	// Nodes are nodes of the cluster; not necessarily all.
	Nodes []Node
}

// Node is what a node says of its region.
type Node struct {
	Name string
	// Region is the label topology.kubernetes.io/region.
	Region string
	// ProviderID is spec.providerID.
	ProviderID string
}

// metadataTime is how long the machine's metadata service may take. In most
// pods it cannot be reached at all.
const metadataTime = time.Second

// locate completes a configuration: the region, if neither a flag nor the
// environment names one, and the endpoints of the cluster.
func locate(ctx context.Context, cfg *sdk.Config, a Access) error {
	var c Cluster
	if a.Cluster != nil {
		var err error
		if c, err = a.Cluster(ctx); err != nil {
			return fmt.Errorf("ask the cluster where it is: %w", err)
		}
	}
	if a.Endpoint == "" && len(c.Endpoints) > 0 {
		cfg.ConfigSources = append(cfg.ConfigSources, endpoints(c.Endpoints))
	}
	if cfg.Region != "" {
		return nil
	}
	region, err := regionOf(c)
	if err != nil {
		return err
	}
	if region == "" {
		region, err = metadata(ctx, *cfg, func(ctx context.Context, m *imds.Client) (string, error) {
			out, err := m.GetRegion(ctx, &imds.GetRegionInput{})
			if err != nil {
				return "", err
			}
			return out.Region, nil
		})
	}
	if region == "" {
		return fmt.Errorf("the AWS region is not known: set --aws-region or AWS_REGION. Neither infrastructures.config.openshift.io/cluster nor the nodes"+
			" (label topology.kubernetes.io/region, spec.providerID aws:///ZONE/i-…) name it, and the machine's metadata service does not either: %w", err)
	}
	cfg.Region = region
	return nil
}

// zoneName is the name of a zone of a region. Local and wavelength zones have
// longer names, which do not contain the region.
var zoneName = regexp.MustCompile(`^([a-z]+(?:-[a-z]+)+-[0-9]+)[a-z]$`)

// regionOf returns the region that a cluster names, or "". Nodes that name
// different ones are an error, because either may be meant.
func regionOf(c Cluster) (string, error) {
	if c.Region != "" {
		return c.Region, nil
	}
	named := map[string]string{} // the first node of each region
	for _, n := range c.Nodes {
		region := n.Region
		if rest, ok := strings.CutPrefix(n.ProviderID, "aws://"); ok && region == "" {
			// aws:///zone/i-… or aws://account/zone/i-…
			parts := strings.Split(rest, "/")
			if found := zoneName.FindStringSubmatch(parts[max(len(parts)-2, 0)]); found != nil {
				region = found[1]
			}
		}
		if region != "" {
			named[region] = cmp.Or(named[region], n.Name)
		}
	}
	switch regions := slices.Sorted(maps.Keys(named)); len(regions) {
	case 0:
		return "", nil
	case 1:
		return regions[0], nil
	default:
		return "", fmt.Errorf("the AWS region is not known: node %s is in %s and node %s in %s; set --aws-region",
			named[regions[0]], regions[0], named[regions[1]], regions[1])
	}
}

// metadata asks the metadata service of the machine (version 2 only) for one
// thing. An empty answer comes with the reason.
func metadata(ctx context.Context, cfg sdk.Config, ask func(context.Context, *imds.Client) (string, error)) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, metadataTime)
	defer cancel()
	client := imds.NewFromConfig(cfg, func(o *imds.Options) {
		o.EnableFallback, o.Retryer = sdk.FalseTernary, sdk.NopRetryer{}
	})
	answer, err := ask(ctx, client)
	if err == nil && answer == "" {
		err = errors.New("an empty answer")
	}
	return answer, err
}

// metadataVPC returns the VPC of the machine that we run on, or "".
func metadataVPC(ctx context.Context, cfg sdk.Config) string {
	read := func(ctx context.Context, m *imds.Client, path string) (string, error) {
		out, err := m.GetMetadata(ctx, &imds.GetMetadataInput{Path: path})
		if err != nil {
			return "", err
		}
		defer out.Content.Close()
		text, err := io.ReadAll(out.Content)
		return strings.TrimSpace(string(text)), err
	}
	vpc, _ := metadata(ctx, cfg, func(ctx context.Context, m *imds.Client) (string, error) { // that there is none is the answer
		mac, err := read(ctx, m, "mac")
		if err != nil {
			return "", err
		}
		return read(ctx, m, "network/interfaces/macs/"+mac+"/vpc-id")
	})
	return vpc
}

// endpoints replace AWS's own addresses. They are a source of configuration of the
// SDK; what the environment says comes first.
type endpoints map[string]string

// GetServiceBaseEndpoint returns the address of a service by the SDK's name.
func (e endpoints) GetServiceBaseEndpoint(_ context.Context, sdkID string) (string, bool, error) {
	name := map[string]string{
		"Elastic Load Balancing v2": "elasticloadbalancing", "EC2": "ec2", "Route 53": "route53", "STS": "sts", "ACM": "acm", "WAFV2": "wafv2",
	}[sdkID]
	url, found := e[name]
	return url, found && name != "", nil
}
