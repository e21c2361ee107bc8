package stack

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// Tags that say whose a resource is. The first three are what other
// controllers and IAM policies know; the fourth is ours alone, and without it
// nothing is ever changed.
const (
	TagCluster     = "kubernetes.io/cluster/" // followed by the cluster's name; the value is TagOwned
	TagOwned       = "owned"
	TagClusterName = "elbv2.k8s.aws/cluster"
	TagService     = "kubernetes.io/service-name"
	// TagResource says what a resource is: ResourceBalancer and so on.
	TagResource = "fairlead.dev/resource"
	// TagUID is the UID of the Service, which differs from that of a later one of its name.
	TagUID = "fairlead.dev/service-uid"
)

// Tags of the AWS Load Balancer Controller, by which it knows what it made.
// They are there only if they are asked for: see docs/cloud/aws.md.
const (
	tagLBCStack    = "service.k8s.aws/stack"
	tagLBCResource = "service.k8s.aws/resource"
)

// OwnershipLBC and OwnershipNative are the values of Defaults.Ownership.
const (
	OwnershipNative = "native"
	OwnershipLBC    = "lbc"
)

// FinalizerLBC is what the AWS Load Balancer Controller puts on Services.
const FinalizerLBC = "service.k8s.aws/resources"

// LeaseLBC is the Lease that its leader holds, mostly in kube-system.
const LeaseLBC = "aws-load-balancer-controller-leader"

// tagTags holds the keys of the tags that the user asked for, so that one that
// is not asked for any more is taken away, and those of others stay.
const tagTags = "fairlead.dev/tags"

// Values of TagResource. That of target groups and listeners is namespace,
// name and port.
const (
	ResourceBalancer = "LoadBalancer"
	ResourceFrontend = "ManagedLBSecurityGroup"
)

// Tags returns the tags of a resource: ours win over the user's.
func Tags(ref hook.Ref, resource string, extra map[string]string) map[string]string {
	all := maps.Clone(extra)
	if all == nil {
		all = map[string]string{}
	}
	if keys := strings.Join(slices.Sorted(maps.Keys(extra)), " "); keys != "" && len(keys) <= maxTagValue {
		all[tagTags] = keys
	}
	all[TagCluster+ref.Cluster] = TagOwned
	all[TagClusterName] = ref.Cluster
	all[TagService] = ref.String()
	all[TagUID] = ref.UID
	all[TagResource] = resource
	return all
}

// Ours reports whether tags are of a resource of this cluster.
func Ours(cluster string, tags map[string]string) bool {
	return tags[TagCluster+cluster] == TagOwned && tags[TagResource] != ""
}

// OwnedBy reports whether tags are of a resource of this Service.
func OwnedBy(ref hook.Ref, tags map[string]string) bool {
	return Ours(ref.Cluster, tags) && tags[TagUID] == ref.UID
}

// RefOf returns the Service that tags name.
func RefOf(cluster string, tags map[string]string) hook.Ref {
	namespace, name, _ := strings.Cut(tags[TagService], "/")
	return hook.Ref{Cluster: cluster, Namespace: namespace, Name: name, UID: tags[TagUID]}
}

var noAlphanumeric = regexp.MustCompile(`[^a-zA-Z0-9]`)

// Prefix is how the names of all generated resources of a Service begin.
func Prefix(ref hook.Ref) string {
	short := func(s string) string {
		s = strings.ToLower(noAlphanumeric.ReplaceAllString(s, ""))
		return s[:min(len(s), 8)]
	}
	return "k8s-" + short(ref.Namespace) + "-" + short(ref.Name) + "-"
}

// hashed returns a name of at most 32 characters. The parts are separated in
// the hash, so that no two lists of parts give the same one.
func hashed(ref hook.Ref, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{ref.Cluster, ref.UID}, parts...), "\x00")))
	return Prefix(ref) + hex.EncodeToString(sum[:5])
}

// balancerName has scheme and kind in it, so that a replacement can stand
// beside what it replaces.
func balancerName(ref hook.Ref, kind hook.Kind, scheme hook.Scheme) string {
	return hashed(ref, string(scheme), string(kind))
}

// groupName has in it all that cannot be changed in a target group.
func groupName(ref hook.Ref, balancer string, g TargetGroup) string {
	parts := []string{balancer, strconv.Itoa(int(g.ServicePort)), strconv.Itoa(int(g.Port)), g.Type, g.Protocol, g.VPC}
	if g.AddressType == addressesIPv6 {
		parts = append(parts, g.AddressType)
	}
	return hashed(ref, parts...)
}

func frontendName(ref hook.Ref) string { return hashed(ref, "frontend", ref.Namespace, ref.Name) }

// nodeRuleMark marks rules in the nodes' security groups as ours.
func nodeRuleMark(cluster string) string { return "fairlead.dev/node-rule=" + cluster }

// nodeRuleService stands before the UID of the Service in the mark of a rule
// whose source is a security group of the user, which others may use as well.
const nodeRuleService = " service="

// nodeRuleDescription says whose a rule is: one of a frontend by its source.
func nodeRuleDescription(ref hook.Ref, frontend bool) string {
	if frontend {
		return nodeRuleMark(ref.Cluster)
	}
	return nodeRuleMark(ref.Cluster) + nodeRuleService + ref.UID
}
