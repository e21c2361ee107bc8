package stack

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// Inventory is everything in the account that may be ours, with its tags.
type Inventory struct {
	// At is when it was read.
	At time.Time
	// Balancers are all load balancers of the account.
	Balancers []Balancer
	// Groups are the target groups with generated names.
	Groups []TargetGroup
	// Frontends are the security groups that are tagged as ours.
	Frontends []SecurityGroup
}

// Find returns what a Service has, by the tags. Before is what was known of it
// earlier. An error is of class Conflict.
func (i Inventory) Find(ref hook.Ref, deleting bool, before Observed) (Observed, error) {
	o := before.Forget().draft()
	for _, b := range i.Balancers {
		switch {
		case OwnedBy(ref, b.Tags):
			o.State.Former = append(o.State.Former, b)
		case deleting && !strings.HasPrefix(b.Name, Prefix(ref)):
			// Any user who may edit the Service can write its handle. A load balancer
			// of another owner is no reason to keep the Service.
		case ref.Handle != "" && b.ARN == ref.Handle:
			return o, conflict("load balancer", b.Name, b.Tags)
		}
	}
	slices.SortFunc(o.State.Former, func(a, b Balancer) int { return cmp.Compare(a.Name, b.Name) })
	for _, g := range i.Groups {
		if OwnedBy(ref, g.Tags) {
			o.State.Groups = append(o.State.Groups, g)
		}
	}
	slices.SortFunc(o.State.Groups, func(a, b TargetGroup) int { return cmp.Compare(a.Name, b.Name) })
	for _, g := range i.Frontends {
		if OwnedBy(ref, g.Tags) {
			o.State.Frontend = &g
			o.touch(i.At, Part{Kind: PartFrontend})
		}
	}
	o.found = true
	// Enough is known of these for now; their age is that of the inventory.
	o.touch(i.At, Part{Kind: PartBalancer}, Part{Kind: PartGroups})
	return o, nil
}

// CheckOwner returns an error of class Conflict if the load balancer that the
// Service has is not tagged as its own any more.
func CheckOwner(ref hook.Ref, have State) error {
	if b := have.Balancer; b != nil && !OwnedBy(ref, b.Tags) {
		return conflict("load balancer", b.Name, b.Tags)
	}
	return nil
}

// CheckNames returns an error of class Conflict if a resource of another owner
// has a name that the Service needs.
func (i Inventory) CheckNames(want Stack) error {
	for _, b := range i.Balancers {
		if b.Name == want.Balancer.Name && !OwnedBy(want.Ref, b.Tags) {
			return conflict("load balancer", b.Name, b.Tags)
		}
	}
	for _, g := range i.Groups {
		if !OwnedBy(want.Ref, g.Tags) && slices.ContainsFunc(want.Groups, func(w TargetGroup) bool { return w.Name == g.Name }) {
			return conflict("target group", g.Name, g.Tags)
		}
	}
	return nil
}

// conflict is the error about a resource of our name that has another owner.
func conflict(what, name string, tags map[string]string) error {
	owner := "has no tags that say whose it is"
	if s := tags[TagService]; s != "" {
		owner = "is tagged for Service " + s
	}
	return &hook.Error{
		Class: hook.ClassConflict, Code: "OwnershipConflict",
		Message: "the " + what + " " + name + " is not of this Service: it " + owner + ". It is left alone: delete or rename it, or give it its tags back",
	}
}

// Undetermined are the security groups of load balancers of the cluster whose
// Services are not among those that said which rules they need.
func (i Inventory) Undetermined(cluster string, known map[string]bool) []string {
	var groups []string
	for _, b := range i.Balancers {
		if Ours(cluster, b.Tags) && !known[RefOf(cluster, b.Tags).UID] {
			groups = append(groups, b.SecurityGroups...)
		}
	}
	return groups
}

// Owners are all Services of a cluster that have anything.
func (i Inventory) Owners(cluster string) []hook.Ref {
	byUID := map[string]hook.Ref{}
	note := func(tags map[string]string, handle string) {
		if !Ours(cluster, tags) {
			return
		}
		ref := RefOf(cluster, tags)
		ref.Handle = cmp.Or(byUID[ref.UID].Handle, handle)
		byUID[ref.UID] = ref
	}
	for _, b := range i.Balancers {
		note(b.Tags, b.ARN)
	}
	for _, g := range i.Groups {
		note(g.Tags, "")
	}
	for _, g := range i.Frontends {
		note(g.Tags, "")
	}
	var refs []hook.Ref
	for _, uid := range slices.Sorted(maps.Keys(byUID)) {
		refs = append(refs, byUID[uid])
	}
	return refs
}
