package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/api/metallb/v1beta2"
	"github.com/fairlead/fairlead/test/build"
)

// resources reads lines "Kind name {spec}". Objects are as old as their order says.
func resources(t *testing.T, text string) Resources {
	t.Helper()
	res := Resources{ProviderNamespace: ns}
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, spec, _ := strings.Cut(rest, " ")
		if spec == "" {
			spec = "{}"
		}
		add(t, &res, kind, name, time.Unix(int64(1000+i), 0), spec)
	}
	return res
}

func add(t *testing.T, res *Resources, kind, name string, created time.Time, spec string) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: ns, Name: name, CreationTimestamp: metav1.NewTime(created)}
	if name == "" || kind == "" {
		return
	}
	object := map[string]any{"metadata": map[string]any{"namespace": ns, "name": name, "creationTimestamp": created.UTC().Format(time.RFC3339)}}
	body := map[string]any{}
	if err := yaml.Unmarshal([]byte(spec), &body); err != nil {
		t.Fatalf("%s: %v", spec, err)
	}
	object["spec"] = body
	var err error
	convert := runtime.DefaultUnstructuredConverter.FromUnstructured
	switch kind {
	case "IPAddressPool":
		res.Pools = append(res.Pools, v1beta1.IPAddressPool{})
		err = convert(object, &res.Pools[len(res.Pools)-1])
	case "L2Advertisement":
		res.L2Advertisements = append(res.L2Advertisements, v1beta1.L2Advertisement{})
		err = convert(object, &res.L2Advertisements[len(res.L2Advertisements)-1])
	case "BGPAdvertisement":
		res.BGPAdvertisements = append(res.BGPAdvertisements, v1beta1.BGPAdvertisement{})
		err = convert(object, &res.BGPAdvertisements[len(res.BGPAdvertisements)-1])
	case "BGPPeer":
		res.BGPPeers = append(res.BGPPeers, v1beta2.BGPPeer{})
		err = convert(object, &res.BGPPeers[len(res.BGPPeers)-1])
	case "BFDProfile":
		res.BFDProfiles = append(res.BFDProfiles, v1beta1.BFDProfile{})
		err = convert(object, &res.BFDProfiles[len(res.BFDProfiles)-1])
	case "Community":
		res.Communities = append(res.Communities, v1beta1.Community{})
		err = convert(object, &res.Communities[len(res.Communities)-1])
	case "Secret": // {password: x} or {type: y}
		secret := Secret{Type: "kubernetes.io/basic-auth", Data: map[string][]byte{}}
		for k, v := range body {
			if k == "type" {
				secret.Type = fmt.Sprint(v)
				continue
			}
			secret.Data[k] = []byte(fmt.Sprint(v))
		}
		if res.Secrets == nil {
			res.Secrets = map[string]Secret{}
		}
		res.Secrets[name] = secret
	case "Node": // labels
		n := Node{Name: name, Labels: labels.Set{}}
		for k, v := range body {
			n.Labels[k] = fmt.Sprint(v)
		}
		res.Nodes = append(res.Nodes, n)
	case "OnlyNode":
		res.OnlyNode = name
	default:
		t.Fatalf("kind %q", kind)
	}
	if err != nil {
		t.Fatalf("%s %s: %v", kind, meta.Name, err)
	}
}

// told is a peer in words, defaults left out.
func told(p *Peer) string {
	s := fmt.Sprintf("%s: %d", p.Name, p.MyASN)
	field := func(name string, value any, set bool) {
		if set {
			s += fmt.Sprintf(" %s=%v", name, value)
		}
	}
	field("local", p.LocalASN, p.LocalASN != 0)
	field("as", p.PeerASN, p.PeerASN != 0)
	field("as", p.DynamicASN, p.DynamicASN != "")
	field("at", p.Address, p.Address.IsValid())
	field("if", p.Interface, p.Interface != "")
	field("port", p.Port, p.Port != 179)
	field("from", p.Source, p.Source.IsValid())
	field("id", p.RouterID, p.RouterID.IsValid())
	field("hold", fmt.Sprintf("%v/%v", p.Hold, p.Keepalive), p.Hold != 0)
	field("connect", p.Connect, p.Connect != 0)
	field("password", string(p.Password), p.Password != "")
	field("gr", true, p.GracefulRestart)
	field("multihop", true, p.EBGPMultiHop)
	field("vrf", p.VRF, p.VRF != "")
	field("dual", true, p.DualStack)
	if b := p.BFD; b != nil {
		s += fmt.Sprintf(" bfd=%v/%v×%d ttl=%d passive=%v", b.Receive, b.Transmit, b.Multiplier, b.MinimumTTL, b.Passive)
	}
	return s
}

func bgpSummary(c *Config) []string {
	var out []string
	for _, p := range c.Peers {
		out = append(out, told(p))
	}
	for i := range c.Pools {
		for _, ad := range c.Pools[i].BGP {
			s := fmt.Sprintf("%s by %s: /%d /%d", c.Pools[i].Name, ad.Name, ad.AggregationLength, ad.AggregationLengthV6)
			if ad.LocalPref != 0 {
				s += fmt.Sprintf(" pref=%d", ad.LocalPref)
			}
			if ad.Prepend != 0 {
				s += fmt.Sprintf(" prepend=%d", ad.Prepend)
			}
			for _, c := range ad.Communities {
				s += " " + c.String()
			}
			if len(ad.Peers) > 0 {
				s += fmt.Sprint(" ", ad.Peers)
			}
			out = append(out, s)
		}
	}
	return out
}

func TestParseBGP(t *testing.T) {
	t.Parallel()
	const (
		peer     = "{myASN: 1, peerASN: 2, peerAddress: 198.18.0.1"
		peerText = ": 1 as=2 at=198.18.0.1"
		pool4    = "IPAddressPool p {addresses: [198.18.1.0/24]}\n"
		pool46   = "IPAddressPool p {addresses: [198.18.1.0/24, 'fd00:1::/64']}\n"
	)
	for _, tt := range []struct {
		name string
		last string // what was valid before
		now  string
		want []string
		// findings are pieces of the findings, one each.
		findings []string
	}{
		{name: "least", now: "BGPPeer a " + peer + "}", want: []string{"a" + peerText}},
		{
			name: "all fields",
			now: `BFDProfile b {receiveInterval: 100, transmitInterval: 200, detectMultiplier: 5, passiveMode: true, minimumTtl: 10}
				Secret s {password: x}
				BGPPeer a {myASN: 1, localASN: 3, dynamicASN: external, peerAddress: 'fd00::1', peerPort: 1179, sourceAddress: 'fd00::2', routerID: 198.18.0.9, holdTime: 90s, keepaliveTime: 10s, connectTime: 5s, passwordSecret: {name: s}, enableGracefulRestart: true, ebgpMultiHop: true, vrf: red, dualStackAddressFamily: true, bfdProfile: b}`,
			want: []string{"a: 1 local=3 as=external at=fd00::1 port=1179 from=fd00::2 id=198.18.0.9 hold=1m30s/10s connect=5s password=x gr=true multihop=true vrf=red dual=true bfd=100ms/200ms×5 ttl=10 passive=true"},
		},
		{name: "unnumbered", now: "BGPPeer a {myASN: 1, dynamicASN: internal, interface: eth0}", want: []string{"a: 1 as=internal if=eth0"}},
		{name: "BFD defaults", now: "BFDProfile b\nBGPPeer a " + peer + ", bfdProfile: b}", want: []string{"a" + peerText + " bfd=300ms/300ms×3 ttl=254 passive=false"}},
		{name: "hold time only", now: "BGPPeer a " + peer + ", holdTime: 9s}", want: []string{"a" + peerText + " hold=9s/3s"}},
		{name: "keepalive time only", now: "BGPPeer a " + peer + ", keepaliveTime: 4s}", want: []string{"a" + peerText + " hold=12s/4s"}},
		{
			name: "hold time 0", now: "BGPPeer a " + peer + ", holdTime: 0s}", want: []string{"a" + peerText + " hold=18h12m15s/6h4m5s"},
			findings: []string{"Warning BGPPeer/metallb-system/a: IgnoredField spec.holdTime: a session without end"},
		},
		{name: "hold time of half a second", now: "BGPPeer a " + peer + ", holdTime: 500ms}", findings: []string{"spec.holdTime: invalid hold time 500ms"}},
		{name: "no AS number", now: "BGPPeer a {myASN: 1, peerAddress: 198.18.0.1}", findings: []string{"spec.peerASN: exactly one"}},
		{name: "no own AS number", now: "BGPPeer a {peerASN: 1, peerAddress: 198.18.0.1}", findings: []string{"spec.myASN: missing local ASN"}},
		{name: "bad address", now: "BGPPeer a {myASN: 1, peerASN: 2, peerAddress: 1.1.1}", findings: []string{`spec.peerAddress: invalid BGPPeer address "1.1.1"`}},
		{name: "multi-hop iBGP", now: "BGPPeer a {myASN: 1, peerASN: 1, peerAddress: 198.18.0.1, ebgpMultiHop: true}", findings: []string{"spec.ebgpMultiHop: invalid ebgp-multihop"}},
		{name: "password by interface", now: "BGPPeer a {myASN: 1, peerASN: 2, interface: eth0, password: x}", findings: []string{"spec.password: a session by interface cannot have one"}},
		{name: "disableMP", now: "BGPPeer a " + peer + ", disableMP: true}", want: []string{"a" + peerText}, findings: []string{"IgnoredField spec.disableMP"}},
		{
			name: "what a session by interface cannot have", now: "BGPPeer a {myASN: 1, peerASN: 2, interface: eth0, sourceAddress: 198.18.0.7, ebgpMultiHop: true}", want: []string{"a: 1 as=2 if=eth0"},
			findings: []string{"Warning BGPPeer/metallb-system/a: IgnoredField spec.sourceAddress", "Warning BGPPeer/metallb-system/a: IgnoredField spec.ebgpMultiHop"},
		},
		{name: "link-local address", now: "BGPPeer a {myASN: 1, peerASN: 2, peerAddress: 'fe80::1'}", findings: []string{"spec.peerAddress: the link-local address fe80::1 is a host's on one network only"}},
		{name: "no host's address", now: "BGPPeer a {myASN: 1, peerASN: 2, peerAddress: 224.0.0.1}", findings: []string{"spec.peerAddress: 224.0.0.1 is not the address of one host"}},
		{name: "no identifier", now: "BGPPeer a " + peer + ", routerID: 0.0.0.0}", findings: []string{`spec.routerID: "0.0.0.0" does not`}},
		{name: "longest password", now: "BGPPeer a " + peer + ", password: " + strings.Repeat("x", 80) + "}", want: []string{"a" + peerText + " password=" + strings.Repeat("x", 80)}},
		{name: "password that is too long", now: "BGPPeer a " + peer + ", password: " + strings.Repeat("x", 81) + "}", findings: []string{"spec.password: the password has 81 bytes; TCP MD5 takes 80"}},
		{
			name: "password in a Secret that is too long", now: "Secret s {password: " + strings.Repeat("x", 81) + "}\nBGPPeer a " + peer + ", passwordSecret: {name: s}}",
			findings: []string{"Error BGPPeer/metallb-system/a: InvalidField spec.passwordSecret: the password has 81 bytes"},
		},
		{
			name: "one router watched twice", now: "BFDProfile b\nBGPPeer a " + peer + ", bfdProfile: b}\nBGPPeer c " + peer + ", bfdProfile: b, sourceAddress: 198.18.0.7}\nBGPPeer d " + peer + ", bfdProfile: b, vrf: red}",
			want: []string{
				"a" + peerText + " bfd=300ms/300ms×3 ttl=254 passive=false", "c" + peerText + " from=198.18.0.7",
				"d" + peerText + " vrf=red bfd=300ms/300ms×3 ttl=254 passive=false",
			},
			findings: []string{`Warning BGPPeer/metallb-system/c: IgnoredField spec.bfdProfile: BGPPeer "a" has the node watch this router already`},
		},
		{name: "BFD as fast as is safe", now: "BFDProfile b {receiveInterval: 50, transmitInterval: 50}"},
		{
			name: "BFD that is too fast for a busy node", now: "BFDProfile b {receiveInterval: 300, transmitInterval: 40}\nBGPPeer a " + peer + ", bfdProfile: b}",
			want:     []string{"a" + peerText + " bfd=300ms/40ms×3 ttl=254 passive=false"},
			findings: []string{"Warning BFDProfile/metallb-system/b: FastDetection spec.detectMultiplier: the other end is taken for dead after 120ms"},
		},
		{name: "echo mode", now: "BFDProfile b {echoMode: true}", findings: []string{"Warning BFDProfile/metallb-system/b: IgnoredField spec.echoMode"}},
		{
			name: "an error keeps the last version", last: "BGPPeer a " + peer + "}", now: "BGPPeer a " + peer + ", holdTime: 1s}",
			want: []string{"a" + peerText}, findings: []string{"(its last valid version stays in force)"},
		},
		{
			name: "missing BFD profile", now: "BGPPeer a " + peer + ", bfdProfile: b}",
			want:     []string{"a" + peerText},
			findings: []string{"Error BGPPeer/metallb-system/a: MissingReference spec.bfdProfile: peer a referencing non existing bfd profile b (the session runs without BFD until that is there)"},
		},
		{
			name: "BFD profile in use is deleted", last: "BFDProfile b\nBGPPeer a " + peer + ", bfdProfile: b}", now: "BGPPeer a " + peer + ", bfdProfile: b}",
			want: []string{"a" + peerText + " bfd=300ms/300ms×3 ttl=254 passive=false"}, findings: []string{"bfd profile b (the session goes on as the profile said last)"},
		},
		{
			name: "BFD profile is deleted and the peer edited", last: "BFDProfile b\nBGPPeer a " + peer + ", bfdProfile: b}", now: "BGPPeer a " + peer + ", bfdProfile: b, holdTime: 9s}",
			want: []string{"a" + peerText + " hold=9s/3s bfd=300ms/300ms×3 ttl=254 passive=false"}, findings: []string{"MissingReference spec.bfdProfile"},
		},
		{
			name: "another BFD profile that is not there", last: "BFDProfile b\nBGPPeer a " + peer + ", bfdProfile: b}", now: "BGPPeer a " + peer + ", bfdProfile: c}",
			want: []string{"a" + peerText}, findings: []string{"without BFD"},
		},
		{name: "passwords are not read here", now: "BGPPeer a " + peer + ", passwordSecret: {name: s}}", want: []string{"a" + peerText}},
		{name: "missing Secret", now: "Secret x {password: x}\nBGPPeer a " + peer + ", passwordSecret: {name: s}}", findings: []string{"MissingReference spec.passwordSecret: secret ref not found"}},
		{name: "Secret of another type", now: "Secret s {type: Opaque, password: x}\nBGPPeer a " + peer + ", passwordSecret: {name: s}}", findings: []string{"secret type mismatch"}},
		{name: "Secret without the key", now: "Secret s {user: x}\nBGPPeer a " + peer + ", passwordSecret: {name: s}}", findings: []string{"password not specified"}},
		{
			name: "the same session twice", now: "BGPPeer b " + peer + "}\nBGPPeer a " + peer + ", holdTime: 9s}",
			want: []string{"b" + peerText}, findings: []string{`BGPPeer/metallb-system/a: Duplicate spec: BGPPeer "b" is the same session on the same node (it is not used)`},
		},
		{
			name: "the same router from different nodes",
			now: `Node n1 {rack: x}
				Node n2 {rack: z}
				BGPPeer a ` + peer + `, nodeSelectors: [{matchLabels: {rack: x}}]}
				BGPPeer b ` + peer + `, nodeSelectors: [{matchLabels: {rack: z}}]}`,
			want: []string{"a" + peerText, "b" + peerText},
		},
		{
			name: "what is meant for another node does not matter here",
			now: `Node n1 {rack: x}
				OnlyNode n1
				BGPPeer a {myASN: 1, nodeSelectors: [{matchLabels: {rack: z}}]}
				BGPPeer b ` + peer + `, nodeSelectors: [{matchLabels: {rack: x}}]}
				BGPAdvertisement c {communities: [none], nodeSelectors: [{matchLabels: {rack: z}}]}
				` + pool4,
			want: []string{"b" + peerText},
		},

		{name: "plain advertisement", now: pool4 + "BGPAdvertisement x", want: []string{"p by x: /32 /128"}},
		{
			name: "advertisement with everything",
			now: `Community c {communities: [{name: far, value: '65000:9'}, {name: big, value: 'large:1:2:3'}]}
				BGPAdvertisement x {aggregationLength: 24, aggregationLengthV6: 64, localPref: 7, communities: [big, '65000:10', far, '65000:9'], peers: [b, a], ipAddressPools: [p]}
				IPAddressPool p {addresses: [198.18.1.0/24, 'fd00::/64']}
				IPAddressPool q {addresses: [198.18.2.0/24]}`,
			want: []string{"p by x: /24 /64 pref=7 65000:9 65000:10 large:1:2:3 [a b]"},
		},
		{
			name: "unknown community", now: pool4 + "BGPAdvertisement x {communities: [far]}",
			findings: []string{`MissingReference spec.communities[0]: no Community object defines "far"`},
		},
		{
			name: "community defined twice", now: pool4 + "Community c {communities: [{name: far, value: '1:1'}]}\nCommunity d {communities: [{name: far, value: '2:2'}, {name: near, value: '3:3'}]}\nBGPAdvertisement x {communities: [far, near]}",
			want: []string{"p by x: /32 /128 1:1 3:3"}, findings: []string{`Community/metallb-system/d: Duplicate spec.communities[0].name: duplicate definition of community "far"`},
		},
		{
			name: "a community that cannot be read any more", last: "Community c {communities: [{name: far, value: '1:1'}]}",
			now:  pool4 + "Community c {communities: [{name: far, value: '1:x'}]}\nBGPAdvertisement x {communities: [far]}",
			want: []string{"p by x: /32 /128 1:1"}, findings: []string{"spec.communities[0].value: invalid community value: invalid section"},
		},
		{
			name: "aggregation beyond the pool", now: "IPAddressPool p {addresses: [198.18.1.0/28]}\nIPAddressPool q {addresses: [198.18.2.0/24]}\nBGPAdvertisement x {aggregationLength: 26}",
			want:     []string{"q by x: /26 /128"},
			findings: []string{`InvalidAggregation spec.aggregationLength: invalid aggregation length 26: prefix 28 in this pool is more specific than the aggregation length for addresses 198.18.1.0-198.18.1.15 (it is not used for pool "p")`},
		},
		{name: "aggregation of a range", now: "IPAddressPool p {addresses: [198.18.1.1-198.18.1.130]}\nBGPAdvertisement x {aggregationLength: 26}", want: []string{"p by x: /26 /128"}},
		{
			name: "aggregation becomes wrong", last: pool4 + "BGPAdvertisement x {aggregationLength: 24}", now: pool4 + "BGPAdvertisement x {aggregationLength: 16}",
			want: []string{"p by x: /24 /128"}, findings: []string{`its last valid version stays in force for pool "p"`},
		},
		{name: "AS number repeated", now: pool4 + "BGPAdvertisement x {asPathPrepend: 3}", want: []string{"p by x: /32 /128 prepend=3"}},
		{name: "AS number repeated too often", now: pool4 + "BGPAdvertisement x {asPathPrepend: 11}", findings: []string{"spec.asPathPrepend: 11 is not between 1 and 10"}},
		{
			name: "AS number repeated in two ways", now: pool4 + "BGPAdvertisement y {asPathPrepend: 1}\nBGPAdvertisement x {}",
			want: []string{"p by y: /32 /128 prepend=1"}, findings: []string{`BGPAdvertisement/metallb-system/x: ConflictingAdvertisements spec.asPathPrepend: BGPAdvertisement "y" announces the same IPv4 prefixes with the AS number prepended 1 times instead of 0`},
		},
		{
			name: "local preferences conflict", now: pool4 + "BGPAdvertisement y {localPref: 1}\nBGPAdvertisement x {localPref: 2}",
			want: []string{"p by y: /32 /128 pref=1"}, findings: []string{`BGPAdvertisement/metallb-system/x: ConflictingAdvertisements spec.localPref: BGPAdvertisement "y" announces the same IPv4 prefixes with local preference 1 instead of 2`},
		},
		{
			name: "local preferences conflict in IPv6 only", now: pool46 + "BGPAdvertisement y {localPref: 1}\nBGPAdvertisement x {localPref: 2, aggregationLength: 24}",
			want:     []string{"p by x: /24 /0 pref=2", "p by y: /32 /128 pref=1"},
			findings: []string{`x: ConflictingAdvertisements spec.localPref: BGPAdvertisement "y" announces the same IPv6 prefixes with local preference 1 instead of 2 (it is used for the IPv4 addresses of pool "p" only)`},
		},
		{
			name: "aggregation beyond the pool in IPv4 only", now: pool46 + "BGPAdvertisement x {aggregationLength: 23, aggregationLengthV6: 64}", want: []string{"p by x: /0 /64"},
			findings: []string{`InvalidAggregation spec.aggregationLength: invalid aggregation length 23: prefix 24 in this pool is more specific than the aggregation length for addresses 198.18.1.0-198.18.1.255 (it is used for the IPv6 addresses of pool "p" only)`},
		},
		{
			name: "one family becomes wrong, both go on", last: pool46 + "BGPAdvertisement x {aggregationLength: 24}", now: pool46 + "BGPAdvertisement x {aggregationLength: 23, aggregationLengthV6: 64}",
			want: []string{"p by x: /24 /128"}, findings: []string{`its last valid version stays in force for pool "p"`},
		},
		{
			name: "an edit beside a conflict that stays", last: pool4 + "BGPAdvertisement y {localPref: 1}\nBGPAdvertisement x {localPref: 2, aggregationLength: 24}",
			now:  pool46 + "BGPAdvertisement y {localPref: 1}\nBGPAdvertisement x {localPref: 3, aggregationLength: 25}",
			want: []string{"p by x: /25 /0 pref=3", "p by y: /32 /128 pref=1"}, findings: []string{"it is used for the IPv4 addresses"},
		},
		{name: "local preferences of different lengths", now: pool4 + "BGPAdvertisement x {localPref: 1}\nBGPAdvertisement y {localPref: 2, aggregationLength: 24}", want: []string{"p by x: /32 /128 pref=1", "p by y: /24 /128 pref=2"}},
		{name: "local preferences for different peers", now: pool4 + "BGPAdvertisement x {localPref: 1, peers: [a]}\nBGPAdvertisement y {localPref: 2, peers: [b]}", want: []string{"p by x: /32 /128 pref=1 [a]", "p by y: /32 /128 pref=2 [b]"}},
		{name: "local preferences by Service", now: pool4 + "BGPAdvertisement x {localPref: 1}\nBGPAdvertisement y {localPref: 2, serviceSelectors: [{matchLabels: {a: b}}]}", want: []string{"p by x: /32 /128 pref=1", "p by y: /32 /128 pref=2"}},
		{
			name: "local preferences on different nodes",
			now: pool4 + `Node n1 {rack: x}
				Node n2 {rack: z}
				BGPAdvertisement x {localPref: 1, nodeSelectors: [{matchLabels: {rack: x}}]}
				BGPAdvertisement y {localPref: 2, nodeSelectors: [{matchLabels: {rack: z}}]}`,
			want: []string{"p by x: /32 /128 pref=1", "p by y: /32 /128 pref=2"},
		},
		{name: "length and Service selectors", now: pool4 + "BGPAdvertisement x {aggregationLength: 24, serviceSelectors: [{}]}", findings: []string{"mutually exclusive"}},
		{name: "bad length", now: pool4 + "BGPAdvertisement x {aggregationLength: 33}", findings: []string{"spec.aggregationLength: 33 is not between 1 and 32"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			last, findings := Parse(resources(t, tt.last), nil)
			if findings = withoutHints(findings); len(findings) > 0 {
				t.Fatal(findings)
			}
			for range 2 { // what is wrong is told the same way the next time
				cfg, findings := Parse(resources(t, tt.now), last)
				findings = withoutHints(findings)
				if diff := cmp.Diff(tt.want, bgpSummary(cfg)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if err := build.Undeclared(findings); err != nil {
					t.Error(err)
				}
				got := texts(findings)
				if len(got) != len(tt.findings) {
					t.Fatalf("findings: %q, want %q", got, tt.findings)
				}
				for i, want := range tt.findings {
					if !strings.Contains(got[i], want) {
						t.Errorf("finding %q lacks %q", got[i], want)
					}
				}
				last = cfg
			}
		})
	}
}

func TestPasswordsDoNotPrintThemselves(t *testing.T) {
	t.Parallel()
	p := Peer{Password: "geheim"}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{fmt.Sprint(p), fmt.Sprintf("%+v %#v", p, p), string(text)} {
		if strings.Contains(s, "geheim") || !strings.Contains(s, "(hidden)") {
			t.Error(s)
		}
	}
}

func TestClusterAddresses(t *testing.T) {
	t.Parallel()
	res := resources(t, "IPAddressPool p {addresses: [198.18.1.0/24, 198.18.9.0/24]}")
	res.Nodes = []Node{{Name: "n", Addresses: addresses("198.18.0.1", "198.18.1.7"), PodRanges: prefixes("198.18.8.0/23")}}
	res.ServiceAddresses = addresses("10.0.0.1", "198.18.9.9")
	cfg, findings := Parse(res, nil)
	if len(cfg.Pools) != 1 || Invalid(findings) {
		t.Errorf("the pool is not used: %v", findings)
	}
	want := []string{`198.18.1.7 is the address of node "n"`, "overlaps with 198.18.8.0/23, the addresses of pods", "198.18.9.9 is the cluster IP of a Service"}
	if len(findings) != len(want) {
		t.Fatalf("findings: %v", findings)
	}
	for i, f := range findings {
		if f.Reason != api.ReasonClusterAddress || !strings.Contains(f.Message, want[i]) {
			t.Errorf("finding %v lacks %q", f, want[i])
		}
	}
}

func TestState(t *testing.T) {
	t.Parallel()
	_, missing := Parse(resources(t, "BGPPeer a {myASN: 1, peerASN: 2, peerAddress: 198.18.0.1, bfdProfile: b}"), nil)
	_, wrong := Parse(resources(t, "IPAddressPool p {addresses: [nonsense]}\nBGPPeer a {myASN: 1, peerASN: 2, peerAddress: 198.18.0.1, bfdProfile: b}"), nil)
	_, odd := Parse(resources(t, "BFDProfile b {echoMode: true}"), nil)
	for _, tt := range []struct {
		name     string
		consumer Consumer
		findings []api.Finding
		want     string
		summary  string
	}{
		{"all is well", Speaker, nil, "Valid configReconcilerValid=True Reconciled: ", ""},
		{"warnings are not errors", Speaker, odd, "Valid configReconcilerValid=True Reconciled: BFDProfile/metallb-system/b: spec.echoMode: ", ""},
		{"something is missing", Speaker, missing, "Invalid configReconcilerValid=False MissingReference", "BGPPeer/metallb-system/a: spec.bfdProfile:"},
		{"something is wrong as well", Speaker, wrong, "Invalid configReconcilerValid=False ConfigurationError", "IPAddressPool/metallb-system/p: spec.addresses[0]:"},
		{"the controller does not mind BGP", Controller, missing, "Valid poolReconcilerValid=True Reconciled", ""},
		{"the controller minds pools", Controller, wrong, "Invalid poolReconcilerValid=False ConfigurationError", "spec.addresses[0]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := State(tt.consumer, tt.findings)
			c := s.Conditions[0]
			if got := fmt.Sprintf("%s %s=%s %s: %s", s.Result, c.Type, c.Status, c.Reason, c.Message); !strings.HasPrefix(got, tt.want) {
				t.Errorf("%s, want %s", got, tt.want)
			}
			if !strings.Contains(s.ErrorSummary, tt.summary) || tt.summary == "" && s.ErrorSummary != "" {
				t.Errorf("summary %q, want %q", s.ErrorSummary, tt.summary)
			}
		})
	}
}

// withoutHints leaves out what is told of every peer without a password.
func withoutHints(findings []api.Finding) []api.Finding {
	return slices.DeleteFunc(findings, func(f api.Finding) bool { return f.Severity == api.SeverityInfo })
}

// TestNoPassword: a session that could have a password and has none is used, and
// the controller says so; speakers do not say it again.
func TestNoPassword(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, spec string
		node       string
		hint       bool
	}{
		{"none", "myASN: 1, peerASN: 2, peerAddress: 198.18.0.1", "", true},
		{"none, as a speaker has it", "myASN: 1, peerASN: 2, peerAddress: 198.18.0.1", "n1", false},
		{"a password", "myASN: 1, peerASN: 2, peerAddress: 198.18.0.1, password: x", "", false},
		{"a Secret", "myASN: 1, peerASN: 2, peerAddress: 198.18.0.1, passwordSecret: {name: s}", "", false},
		{"by interface, where none is possible", "myASN: 1, peerASN: 2, interface: eth0", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			res := resources(t, "Node n1 {}\nBGPPeer a {"+tt.spec+"}")
			res.OnlyNode = tt.node
			cfg, findings := Parse(res, nil)
			if len(cfg.Peers) != 1 || Invalid(findings) {
				t.Fatalf("peers %v, findings %v", cfg.Peers, findings)
			}
			told := slices.ContainsFunc(findings, func(f api.Finding) bool {
				return f.Reason == api.ReasonNoPassword && f.Severity == api.SeverityInfo
			})
			if told != tt.hint {
				t.Errorf("findings %v, want a hint: %v", findings, tt.hint)
			}
		})
	}
}

// TestTold: what a speaker writes into its ConfigurationState about a field is
// read back from there.
func TestTold(t *testing.T) {
	t.Parallel()
	res := resources(t, "BGPPeer a {myASN: 1, peerASN: 2, peerAddress: 198.18.0.1, passwordSecret: {name: gone}}\nBGPPeer b {myASN: 1, peerASN: 2, peerAddress: 198.18.0.2, password: x}")
	res.Secrets, res.OnlyNode = map[string]Secret{}, "n1"
	_, findings := Parse(res, nil)
	state := State(Speaker, findings)
	const field = "spec.passwordSecret"
	object := func(name string) api.ObjectRef {
		return api.ObjectRef{Group: "metallb.io", Kind: "BGPPeer", Namespace: res.ProviderNamespace, Name: name}
	}
	if got := Told(&state, object("a"), field); !strings.Contains(got, `secret ref not found for peer config "metallb-system"/"gone"; it is used as soon as that is there`) {
		t.Errorf("told of a: %q of %q", got, state.ErrorSummary)
	}
	for _, other := range []api.ObjectRef{object("b"), object("")} {
		if got := Told(&state, other, field); got != "" {
			t.Errorf("told of %s: %q", other, got)
		}
	}
	if got := Told(&state, object("a"), "spec"); got != "" {
		t.Errorf("told of another field: %q", got)
	}
}
