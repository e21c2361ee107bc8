package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/api/metallb/v1beta2"
)

// ParseCommunity reads "64512:100" or "large:64512:100:1". The error is in
// words for users.
func ParseCommunity(text string) (Community, error) {
	numbers, large := strings.CutPrefix(text, "large:")
	parts := strings.Split(numbers, ":")
	want, bits := 2, 16
	if large {
		want, bits = 3, 32
	}
	if len(parts) != want {
		return Community{}, fmt.Errorf("%q is not written as 64512:100 or as large:64512:100:1", text)
	}
	values := [3]uint32{}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, bits)
		if err != nil {
			return Community{}, fmt.Errorf("invalid community value: invalid section %q of %q: not a number of %d bits", part, text, bits)
		}
		values[i] = uint32(n)
	}
	return Community{Large: large, A: values[0], B: values[1], C: values[2]}, nil
}

func compareCommunities(a, b Community) int {
	if a.Large != b.Large {
		if a.Large {
			return 1
		}
		return -1
	}
	return slices.Compare([]uint32{a.A, a.B, a.C}, []uint32{b.A, b.B, b.C})
}

func (p *parser) community(obj *v1beta1.Community) {
	var problems []problem
	names := map[string]Community{}
	for i, c := range obj.Spec.Communities {
		field := fmt.Sprintf("spec.communities[%d]", i)
		value, err := ParseCommunity(c.Value)
		if err != nil {
			problems = append(problems, problem{field: field + ".value", reason: api.ReasonInvalidField, message: err.Error()})
			old, known := p.last.communities[obj.Name][c.Name]
			if !known {
				continue
			}
			value = old
		}
		owner := p.definer(c.Name)
		if _, twice := names[c.Name]; twice {
			owner = obj.Name
		}
		if owner != "" {
			problems = append(problems, problem{
				field: field + ".name", reason: api.ReasonDuplicate,
				message: fmt.Sprintf("duplicate definition of community %q, which Community %q defines", c.Name, owner),
			})
			continue
		}
		names[c.Name] = value
	}
	p.cfg.communities[obj.Name] = names
	p.report(ref("Community", obj), effectEntry, problems...)
}

// definer returns the name of the Community object that defines name, or "".
func (p *parser) definer(name string) string {
	for object, names := range p.cfg.communities {
		if _, ok := names[name]; ok {
			return object
		}
	}
	return ""
}

// safeDetection is the least time of silence after which a router, or this node,
// can be taken for dead without false alarms.
const safeDetection = 150 * time.Millisecond

func (p *parser) profile(obj *v1beta1.BFDProfile) {
	s := obj.Spec
	var problems []problem
	number := func(field string, value *uint32, low, high, otherwise uint32) uint32 {
		if value == nil {
			return otherwise
		}
		if *value < low || *value > high {
			problems = append(problems, problem{
				field: "spec." + field, reason: api.ReasonInvalidField,
				message: fmt.Sprintf("%d is not between %d and %d", *value, low, high),
			})
			return otherwise
		}
		return *value
	}
	profile := &BFDProfile{
		Name:       obj.Name,
		Receive:    time.Duration(number("receiveInterval", s.ReceiveInterval, 10, 60000, 300)) * time.Millisecond,
		Transmit:   time.Duration(number("transmitInterval", s.TransmitInterval, 10, 60000, 300)) * time.Millisecond,
		Multiplier: uint8(number("detectMultiplier", s.DetectMultiplier, 2, 255, 3)),
		Passive:    s.PassiveMode != nil && *s.PassiveMode,
		MinimumTTL: uint8(number("minimumTtl", s.MinimumTTL, 1, 254, 254)),
	}
	if s.EchoMode != nil && *s.EchoMode {
		p.warn(ref("BFDProfile", obj), problem{
			field: "spec.echoMode", reason: api.ReasonIgnoredField,
			message: "sessions run without echo packets; the loss of the router is noticed by the intervals of this profile",
		})
	}
	if hasty := min(profile.Receive, profile.Transmit) * time.Duration(profile.Multiplier); len(problems) == 0 && hasty < safeDetection {
		p.warn(ref("BFDProfile", obj), problem{
			field: "spec.detectMultiplier", reason: api.ReasonFastDetection,
			message: fmt.Sprintf("the other end is taken for dead after %v of silence, which a busy node may take to answer; %v, as of 3 × 50 ms, is the least that is safe", hasty, safeDetection),
		})
	}
	settle(p, ref("BFDProfile", obj), p.cfg.profiles, p.last.profiles, profile, problems)
}

// maxPrepend is how many times the AS number may be repeated.
const maxPrepend = 10

func (p *parser) bgp(obj *v1beta1.BGPAdvertisement) {
	s := obj.Spec
	ad := &BGPAdvertisement{
		Name: obj.Name, AggregationLength: 32, AggregationLengthV6: 128, LocalPref: s.LocalPref, Prepend: s.AsPathPrepend,
		Peers: slices.Sorted(slices.Values(s.Peers)), pools: s.IPAddressPools,
	}
	var problems []problem
	selectors := func(field string, in []metav1.LabelSelector) []labels.Selector {
		out, bad := readSelectors("spec."+field, in)
		problems = append(problems, bad...)
		return out
	}
	length := func(field string, value *int32, into *int) {
		if value == nil {
			return
		}
		if *value < 1 || int(*value) > *into {
			problems = append(problems, problem{
				field: "spec." + field, reason: api.ReasonInvalidField,
				message: fmt.Sprintf("%d is not between 1 and %d", *value, *into),
			})
			return
		}
		*into = int(*value)
	}
	ad.Nodes = selectors("nodeSelectors", s.NodeSelectors)
	if len(problems) == 0 && p.elsewhere(ad.Nodes) {
		return
	}
	ad.poolSelectors = selectors("ipAddressPoolSelectors", s.IPAddressPoolSelectors)
	ad.Services = selectors("serviceSelectors", s.ServiceSelectors)
	length("aggregationLength", s.AggregationLength, &ad.AggregationLength)
	length("aggregationLengthV6", s.AggregationLengthV6, &ad.AggregationLengthV6)
	if s.AsPathPrepend > maxPrepend {
		problems = append(problems, problem{
			field: "spec.asPathPrepend", reason: api.ReasonInvalidField,
			message: fmt.Sprintf("%d is not between 1 and %d", s.AsPathPrepend, maxPrepend),
		})
	}
	if len(s.ServiceSelectors) > 0 && (ad.AggregationLength != 32 || ad.AggregationLengthV6 != 128) {
		problems = append(problems, problem{
			field: "spec.serviceSelectors", reason: api.ReasonInvalidField,
			message: "they and an aggregation length other than 32 or 128 are mutually exclusive",
		})
	}
	for i, text := range s.Communities {
		c, pr := p.resolve(text)
		if pr != nil {
			pr.field = fmt.Sprintf("spec.communities[%d]", i)
			problems = append(problems, *pr)
			continue
		}
		ad.Communities = append(ad.Communities, c)
	}
	slices.SortFunc(ad.Communities, compareCommunities)
	ad.Communities = slices.Compact(ad.Communities)
	if settle(p, ref("BGPAdvertisement", obj), p.cfg.bgp, p.last.bgp, ad, problems) {
		p.bgpOrder = append(p.bgpOrder, obj.Name)
	}
}

// resolve reads a community or looks up its name.
func (p *parser) resolve(text string) (Community, *problem) {
	if strings.Contains(text, ":") {
		c, err := ParseCommunity(text)
		if err != nil {
			return c, &problem{reason: api.ReasonInvalidField, message: err.Error()}
		}
		return c, nil
	}
	for _, names := range p.cfg.communities {
		if c, ok := names[text]; ok {
			return c, nil
		}
	}
	return Community{}, &problem{reason: api.ReasonMissingReference, message: fmt.Sprintf("no Community object defines %q", text)}
}

func (p *parser) peer(obj *v1beta2.BGPPeer) {
	r := peerReader{spec: &obj.Spec}
	peer := r.read(obj.Name)
	if !r.badNodes && p.elsewhere(peer.Nodes) {
		return
	}
	p.references(&r, peer)
	if len(r.problems) == 0 {
		r.problems = p.sameSession(peer)
	}
	p.watchedOnce(&r, peer)
	if len(r.odd) > 0 {
		p.warn(ref("BGPPeer", obj), r.odd...)
	}
	p.report(ref("BGPPeer", obj), r.without, r.lacks...)
	last := map[string]*Peer{}
	if old := p.last.Peer(obj.Name); old != nil && len(p.sameSession(old)) == 0 {
		last[obj.Name] = old
	}
	used := map[string]*Peer{}
	if settle(p, ref("BGPPeer", obj), used, last, peer, r.problems) {
		p.cfg.Peers = append(p.cfg.Peers, used[obj.Name])
		p.hint(obj)
	}
}

// hint reports, once and not by each speaker, that a session could be protected by
// a password and is not.
func (p *parser) hint(obj *v1beta2.BGPPeer) {
	s := obj.Spec
	if p.res.OnlyNode != "" || s.Interface != "" || s.Password != "" || s.PasswordSecret.Name != "" {
		return
	}
	p.report(ref("BGPPeer", obj), "", problem{
		field: "spec.passwordSecret", reason: api.ReasonNoPassword,
		message: "the session has no password: what is on the path to the router, or at its address, can end it or pose as the router",
	})
	p.findings[len(p.findings)-1].Severity = api.SeverityInfo
}

// references looks up what the peer names: its BFD profile and its password.
func (p *parser) references(r *peerReader, peer *Peer) {
	p.watch(r, peer)
	secret := r.spec.PasswordSecret
	if secret.Name == "" {
		return
	}
	if ns := secret.Namespace; ns != "" && ns != p.res.ProviderNamespace {
		r.warn("passwordSecret.namespace", "Secrets are read in namespace %s only", p.res.ProviderNamespace)
	}
	if p.res.Secrets == nil {
		return
	}
	s, ok := p.res.Secrets[secret.Name]
	password, given := s.Data["password"]
	switch {
	case !ok:
		r.problem("passwordSecret", api.ReasonMissingReference, "secret ref not found for peer config %q/%q", p.res.ProviderNamespace, secret.Name)
	case s.Type != "kubernetes.io/basic-auth":
		r.problem("passwordSecret", api.ReasonMissingReference, "secret type mismatch on %q/%q, type kubernetes.io/basic-auth is expected", p.res.ProviderNamespace, secret.Name)
	case !given:
		r.problem("passwordSecret", api.ReasonMissingReference, "password not specified in the secret %q/%q", p.res.ProviderNamespace, secret.Name)
	default:
		peer.Password = Password(password)
		r.secret("passwordSecret", string(password))
	}
}

// watch looks up the peer's BFD profile. One that is not there costs the session
// its fast detection and nothing else: profile and peer come and go in any order.
func (p *parser) watch(r *peerReader, peer *Peer) {
	name := r.spec.BFDProfile
	if name == "" {
		return
	}
	if peer.BFD = p.cfg.profiles[name]; peer.BFD != nil {
		return
	}
	effect := effectWithoutBFD
	if old := p.last.Peer(peer.Name); old != nil && old.BFD != nil && old.BFD.Name == name {
		peer.BFD, effect = old.BFD, effectProfileKept
	}
	r.lacks, r.without = append(r.lacks, problem{
		field: "spec.bfdProfile", reason: api.ReasonMissingReference,
		message: fmt.Sprintf("peer %s referencing non existing bfd profile %s", peer.Name, name),
	}), effect
}

// watchedOnce leaves BFD to the older one of two peers that are one router to a
// node: between two hosts there is one BFD session.
func (p *parser) watchedOnce(r *peerReader, peer *Peer) {
	if peer.BFD == nil || len(r.problems) > 0 {
		return
	}
	for _, other := range p.cfg.Peers {
		if other.BFD != nil && other.Address == peer.Address && other.Interface == peer.Interface && other.VRF == peer.VRF && p.intersect(other.Nodes, peer.Nodes) {
			peer.BFD = nil
			r.warn("bfdProfile", "BGPPeer %q has the node watch this router already; this session ends by its hold time only", other.Name)
			return
		}
	}
}

// sameSession says which older peer is the same session on some node: a router
// keeps only one of them.
func (p *parser) sameSession(peer *Peer) []problem {
	for _, other := range p.cfg.Peers {
		if other.Address == peer.Address && other.Interface == peer.Interface && other.Port == peer.Port &&
			other.VRF == peer.VRF && other.Source == peer.Source && p.intersect(other.Nodes, peer.Nodes) {
			return []problem{{
				field: "spec", reason: api.ReasonDuplicate,
				message: fmt.Sprintf("BGPPeer %q is the same session on the same node", other.Name),
			}}
		}
	}
	return nil
}
