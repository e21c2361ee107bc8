package stack

import (
	"fmt"
	"slices"
	"strings"
)

// Action is one call of AWS. Target groups are named by their name and
// listeners by their port; package aws, which carries actions out, knows the ARNs
// of what exists, and learns those of what it creates.
type Action interface {
	// String is the action in a few words, for logs and dry runs.
	String() string
}

// The actions.
type (
	// CreateSecurityGroup makes the frontend security group, without rules.
	CreateSecurityGroup struct{ Group SecurityGroup }
	// ChangeRules changes the rules of a security group. An empty Group is
	// the frontend's, and so is an empty Rule.Group.
	ChangeRules struct {
		Group             string
		Authorize, Revoke []Rule
	}
	// DeleteSecurityGroup deletes the frontend security group.
	DeleteSecurityGroup struct{ ID string }

	// CreateTargetGroup makes a target group, without targets or attributes.
	CreateTargetGroup struct{ Group TargetGroup }
	// ModifyTargetGroup changes the health check.
	ModifyTargetGroup struct {
		Name  string
		Check HealthCheck
	}
	// SetGroupAttributes sets attributes of a target group.
	SetGroupAttributes struct {
		Name       string
		Attributes map[string]string
	}
	// DeleteTargetGroup deletes a target group.
	DeleteTargetGroup struct{ Name string }

	// CreateBalancer makes the load balancer. Frontend says that its security
	// group is to be the frontend's, besides those that it names.
	CreateBalancer struct {
		Balancer Balancer
		Frontend bool
	}
	// SetSecurityGroups sets the groups of the load balancer.
	SetSecurityGroups struct {
		Groups   []string
		Frontend bool
	}
	// SetSubnets sets the subnets of the load balancer.
	SetSubnets struct{ Subnets []Mapping }
	// SetAddressType sets "ipv4" or "dualstack".
	SetAddressType struct{ AddressType string }
	// SetBalancerAttributes sets attributes of a load balancer.
	SetBalancerAttributes struct {
		Name       string
		Attributes map[string]string
	}
	// SetACL associates a web ACL; "none" takes it away.
	SetACL struct{ ARN string }
	// DeleteBalancer deletes a load balancer.
	DeleteBalancer struct{ Name string }

	// CreateListener makes a listener with its first certificate.
	CreateListener struct{ Listener Listener }
	// ModifyListener changes a listener, except its further certificates.
	ModifyListener struct{ Listener Listener }
	// ChangeCertificates changes the further certificates of a listener.
	ChangeCertificates struct {
		Port        int32
		Add, Remove []string
	}
	// SetListenerAttributes sets attributes of a listener.
	SetListenerAttributes struct {
		Port       int32
		Attributes map[string]string
	}
	// DeleteListener deletes a listener.
	DeleteListener struct{ Port int32 }

	// Register adds targets; at most chunk of them.
	Register struct {
		Name    string
		Targets []Target
	}
	// Deregister removes targets; at most chunk of them.
	Deregister struct {
		Name    string
		Targets []Target
	}

	// Tag sets and removes tags. Of ARN, Name, Port and Frontend one says of what.
	Tag struct {
		Resource Resource
		Set      map[string]string
		Remove   []string
	}
)

// Resource names something that has tags.
type Resource struct {
	Balancer string // its name
	Group    string // a target group's name
	Port     int32  // a listener's port
	Frontend bool
}

// chunk is how many targets one call takes.
const chunk = 200

func (a CreateSecurityGroup) String() string { return "CreateSecurityGroup " + a.Group.Name }

func (a ChangeRules) String() string {
	name := a.Group
	if name == "" {
		name = "frontend"
	}
	return fmt.Sprintf("ChangeRules %s: +%d -%d", name, len(a.Authorize), len(a.Revoke))
}
func (a DeleteSecurityGroup) String() string { return "DeleteSecurityGroup " + a.ID }
func (a CreateTargetGroup) String() string {
	return fmt.Sprintf("CreateTargetGroup %s %s:%d", a.Group.Name, a.Group.Protocol, a.Group.Port)
}
func (a ModifyTargetGroup) String() string { return "ModifyTargetGroup " + a.Name }
func (a SetGroupAttributes) String() string {
	return "SetGroupAttributes " + a.Name + ": " + pairs(a.Attributes)
}
func (a DeleteTargetGroup) String() string { return "DeleteTargetGroup " + a.Name }
func (a CreateBalancer) String() string {
	return fmt.Sprintf("CreateBalancer %s %s %s", a.Balancer.Name, a.Balancer.Kind, a.Balancer.Scheme)
}
func (a SetSecurityGroups) String() string { return "SetSecurityGroups" }
func (a SetSubnets) String() string        { return fmt.Sprintf("SetSubnets %v", a.Subnets) }
func (a SetAddressType) String() string    { return "SetAddressType " + a.AddressType }
func (a SetBalancerAttributes) String() string {
	return "SetBalancerAttributes " + a.Name + ": " + pairs(a.Attributes)
}
func (a SetACL) String() string         { return "SetACL " + a.ARN }
func (a DeleteBalancer) String() string { return "DeleteBalancer " + a.Name }
func (a CreateListener) String() string {
	return fmt.Sprintf("CreateListener %s:%d", a.Listener.Protocol, a.Listener.Port)
}

func (a ModifyListener) String() string {
	return fmt.Sprintf("ModifyListener %s:%d", a.Listener.Protocol, a.Listener.Port)
}

func (a ChangeCertificates) String() string {
	return fmt.Sprintf("ChangeCertificates %d: +%d -%d", a.Port, len(a.Add), len(a.Remove))
}

func (a SetListenerAttributes) String() string {
	return fmt.Sprintf("SetListenerAttributes %d: %s", a.Port, pairs(a.Attributes))
}
func (a DeleteListener) String() string { return fmt.Sprintf("DeleteListener %d", a.Port) }
func (a Register) String() string       { return fmt.Sprintf("Register %s: %d", a.Name, len(a.Targets)) }

func (a Deregister) String() string {
	return fmt.Sprintf("Deregister %s: %d", a.Name, len(a.Targets))
}

func (a Tag) String() string {
	return fmt.Sprintf("Tag %+v: +%d -%d", a.Resource, len(a.Set), len(a.Remove))
}

func pairs(m map[string]string) string {
	var list []string
	for k, v := range m {
		list = append(list, k+"="+v)
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}
