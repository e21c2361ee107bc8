package aws

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// view is what we know of the resources of one Service. It is made by reading
// AWS, kept up by what we change ourselves, and read again part by part, so
// that a steady state costs next to nothing. It is a memory only: without it,
// everything is found again.
//
// The caller of the hook never works on one Service twice at once, so a view
// needs no lock.
type view struct {
	hook  *Hook
	ref   hook.Ref
	state stack.State
	// found says that the resources have been looked up.
	found bool
	// read is when each part was read, or changed by ourselves.
	read map[part]time.Time
	// bad are instances that AWS refused as targets, and when.
	bad map[string]time.Time
	// held is since when only the security group is left of a deletion.
	held time.Time
	// leaving says that the Service is being deleted.
	leaving bool
	// leftOut says which zones the load balancer was made without; empty for none.
	leftOut string
	// spent is how many calls this pass has made for what all Services share.
	spent int
}

// part is what one call reads.
type part struct {
	kind kind
	key  string // a target group's name or a listener's port
}

type kind int

const (
	partBalancer kind = iota
	partTags
	partListeners
	partGroups
	partFrontend
	partNodes
	partBalancerAttributes
	partGroupAttributes
	partListenerAttributes
	partCertificates
	partTargets
	partACL
)

func (h *Hook) newView(ref hook.Ref) *view {
	return &view{hook: h, ref: ref, read: map[part]time.Time{}, bad: map[string]time.Time{}}
}

func (v *view) touch(k kind, key string) { v.read[part{k, key}] = v.hook.now() }

// parts are all parts that there are, in the order in which they are read.
func (v *view) parts(want stack.Stack) []part {
	var all []part
	b := v.state.Balancer
	if b != nil {
		all = append(all, part{kind: partBalancer}, part{kind: partListeners}, part{kind: partBalancerAttributes})
		if want.ACL != "" {
			all = append(all, part{kind: partACL})
		}
	}
	if len(v.state.Groups) > 0 {
		all = append(all, part{kind: partGroups})
	}
	if b != nil || len(v.state.Groups) > 0 {
		all = append(all, part{kind: partTags})
	}
	if v.state.Frontend != nil {
		all = append(all, part{kind: partFrontend})
	}
	if len(want.NodeGroups) > 0 {
		all = append(all, part{partNodes, strings.Join(want.NodeGroups, " ")})
	}
	for _, g := range v.state.Groups {
		all = append(all, part{partGroupAttributes, g.Name}, part{partTargets, g.Name})
	}
	return all
}

// late are the parts of listeners, which are known only when those are read.
func (v *view) late(want stack.Stack) []part {
	var all []part
	for _, l := range v.state.Listeners {
		port := strconv.Itoa(int(l.Port))
		if l.Protocol == "TLS" || l.Protocol == "HTTPS" {
			all = append(all, part{partCertificates, port})
		}
		i := slices.IndexFunc(want.Listeners, func(w stack.Listener) bool { return w.Port == l.Port })
		if l.Protocol == "TCP" && (i >= 0 && len(want.Listeners[i].Attributes) > 0 || l.Tags["fairlead.dev/attributes"] != "") {
			all = append(all, part{partListenerAttributes, port})
		}
	}
	return all
}

// refresh reads the parts that were never read, and those older than age.
func (v *view) refresh(ctx context.Context, want stack.Stack, age time.Duration) error {
	for _, list := range []func(stack.Stack) []part{v.parts, v.late} {
		for _, p := range list(want) {
			if p.kind == partNodes && v.hook.claims.since(v.ref.UID, want.NodeGroups, v.read[p]) {
				delete(v.read, p) // another Service has closed something
			}
			if at, ok := v.read[p]; ok && v.hook.now().Sub(at) < age {
				continue
			}
			if err := v.load(ctx, p, want); err != nil {
				return err
			}
		}
	}
	return nil
}

// never is an age that no part reaches.
const never = time.Duration(1<<63 - 1)

// oldest reads the n oldest parts that are older than age.
func (v *view) oldest(ctx context.Context, want stack.Stack, n int, age time.Duration) error {
	all := slices.Concat(v.parts(want), v.late(want))
	slices.SortStableFunc(all, func(a, b part) int { return v.read[a].Compare(v.read[b]) })
	for _, p := range all[:min(n, len(all))] {
		if v.hook.now().Sub(v.read[p]) < age {
			return nil
		}
		if err := v.load(ctx, p, want); err != nil {
			return err
		}
	}
	return nil
}

// age returns how old the oldest part is.
func (v *view) age(want stack.Stack) time.Duration {
	oldest := time.Duration(0)
	for _, p := range slices.Concat(v.parts(want), v.late(want)) {
		oldest = max(oldest, v.hook.now().Sub(v.read[p]))
	}
	return oldest
}

// load reads one part. What turns out to be gone is looked for anew: by the
// next pass, and by this one if it can.
func (v *view) load(ctx context.Context, p part, want stack.Stack) error {
	err := v.loadPart(ctx, p, want)
	if gone(err) {
		v.forget()
		return hook.Errorf(hook.ClassBusy, "something that was there is gone (%v); looking again", err)
	}
	if err == nil {
		v.read[p] = v.hook.now()
	}
	return err
}

func (v *view) loadPart(ctx context.Context, p part, want stack.Stack) error {
	switch p.kind {
	case partBalancer:
		return v.readBalancer(ctx)
	case partTags:
		return v.readTags(ctx)
	case partListeners:
		return v.readListeners(ctx)
	case partGroups:
		return v.readGroups(ctx)
	case partFrontend:
		return v.readFrontend(ctx)
	case partNodes:
		return v.readNodes(ctx, want)
	case partBalancerAttributes:
		return v.readBalancerAttributes(ctx)
	case partGroupAttributes:
		return v.readGroupAttributes(ctx, p.key)
	case partListenerAttributes:
		return v.readListenerAttributes(ctx, p.key)
	case partCertificates:
		return v.readCertificates(ctx, p.key)
	case partTargets:
		return v.readTargets(ctx, p.key)
	case partACL:
		return v.readACL(ctx)
	}
	return nil
}

// forget drops what is known, so that it is looked up anew.
func (v *view) forget() {
	v.found = false
	v.state = stack.State{}
	v.read = map[part]time.Time{}
	v.hook.inventory.drop()
}

// arrange turns to the load balancer of a name. What was read of another one,
// and when, does not count for it.
func (v *view) arrange(name string) {
	if !v.state.Arrange(name) {
		return
	}
	maps.DeleteFunc(v.read, func(p part, _ time.Time) bool {
		switch p.kind {
		case partListeners, partBalancerAttributes, partListenerAttributes, partCertificates, partACL, partTags:
			return true
		case partBalancer, partGroups, partFrontend, partNodes, partGroupAttributes, partTargets:
		}
		return false
	})
}

// find looks up the Service's resources by their tags.
func (v *view) find(ctx context.Context) error {
	if v.found {
		return nil
	}
	all, err := v.hook.inventory.get(ctx)
	if err != nil {
		return err
	}
	v.state = stack.State{}
	v.read = map[part]time.Time{}
	for _, b := range all.balancers {
		switch {
		case stack.OwnedBy(v.ref, b.Tags):
			v.state.Others = append(v.state.Others, b)
		case v.leaving && !strings.HasPrefix(b.Name, stack.Prefix(v.ref)):
			// Whoever may edit the Service writes its handle, and what is another's
			// is no reason to keep the Service.
		case v.ref.Handle != "" && b.ARN == v.ref.Handle:
			return conflict("load balancer", b.Name, b.Tags)
		}
	}
	slices.SortFunc(v.state.Others, func(a, b stack.Balancer) int { return cmp.Compare(a.Name, b.Name) })
	for _, g := range all.groups {
		if stack.OwnedBy(v.ref, g.Tags) {
			v.state.Groups = append(v.state.Groups, g)
		}
	}
	slices.SortFunc(v.state.Groups, func(a, b stack.TargetGroup) int { return cmp.Compare(a.Name, b.Name) })
	for _, g := range all.frontends {
		if stack.OwnedBy(v.ref, g.Tags) {
			v.state.Frontend = &g
			v.touch(partFrontend, "")
		}
	}
	v.found = true
	// Enough is known of these for now; their age is that of the inventory.
	for _, k := range []kind{partBalancer, partGroups} {
		v.read[part{kind: k}] = all.at
	}
	return nil
}

// conflict is the error about a resource of our name that is not ours.
func conflict(what, name string, tags map[string]string) error {
	whose := "has no tags that say whose it is"
	if s := tags[stack.TagService]; s != "" {
		whose = "is tagged for Service " + s
	}
	return &hook.Error{
		Class: hook.ClassConflict, Code: "OwnershipConflict",
		Message: "the " + what + " " + name + " is not of this Service: it " + whose + ". It is left alone: delete or rename it, or give it its tags back",
	}
}
