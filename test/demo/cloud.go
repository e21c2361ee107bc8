package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fairlead/fairlead/test/wait"
)

// The cloud is a fake AWS on the host tor, whose network load balancers really
// forward: to the operator and its SDK it is AWS.
const (
	cloudHost = "tor"
	cloudZone = "apps.example.com"
)

// cloudActs are those of a demo with CLOUD=aws.
func (d *demo) cloudActs() []act {
	return []act{
		{"A fake AWS, whose load balancers really forward", true, d.startCloud},
		{"Install, as on AWS", true, d.installCloud},
		{"The router's load balancer", true, d.showBalancer},
		{"Sample pods, Routes and an Ingress", true, d.samples},
		{"A plain Route, through the load balancer", false, d.plainRoute},
		{"An edge Route with its own certificate", false, d.edgeRoute},
		{"A passthrough Route: TLS ends in the pod", false, d.passthroughRoute},
		{"By name: Route 53 leads to the load balancer", false, d.byName},
		{"Clients' addresses, by the PROXY protocol", false, d.proxyProtocol},
		{"A value that cannot be used: no call, and it is said which", false, d.badAnnotation},
		{"A node dies and comes back", false, d.nodeTarget},
		{"What it cost", false, d.journal},
		{"The IngressController goes, and everything with it", false, d.removeCloud},
	}
}

// last replaces the last byte of a LAN address.
func last(addr, b string) string { return addr[:strings.LastIndexByte(addr, '.')+1] + b }

// startCloud builds and runs the fake, with a machine for every node.
func (d *demo) startCloud(ctx context.Context) error {
	program := filepath.Join(d.scratch, "fakeaws")
	if out, err := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", program, "./test/fakeaws/cmd/fakeaws").CombinedOutput(); err != nil {
		return fmt.Errorf("build the fake AWS: %w: %s", err, out)
	}
	addr := d.cluster.Address(cloudHost)
	argv := []string{program, "-listen", addr, "-balancers", last(addr, "150"), "-zone", cloudZone}
	for i, node := range d.cluster.Nodes() {
		id := fmt.Sprintf("i-%017x", i+1)
		argv = append(argv, "-instance", id+"="+d.cluster.Address(node))
		if _, err := d.kubectl(ctx, "patch", "node", node, "-p", fmt.Sprintf(`{"spec":{"providerID":"aws:///eu-central-1a/%s"}}`, id)); err != nil {
			return err
		}
	}
	// It lives as long as the demo: the cluster's end is its end too.
	cmd, err := d.cluster.Command(context.WithoutCancel(ctx), cloudHost, argv...)
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(d.cluster.Dir(), cloudHost+"-fakeaws.log"))
	if err != nil {
		return fmt.Errorf("make a log: %w", err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the fake AWS: %w", err)
	}
	d.atEnd = append(d.atEnd, func() {
		_ = cmd.Cancel() // it may have ended
		_ = cmd.Wait()
		_ = log.Close()
	})
	return wait.Poll{Limit: time.Minute, Every: wait.Slowly}.Until(ctx, "an answer of the fake AWS", func() error {
		_, err := d.ask(ctx, "balancers")
		return err
	})
}

// installCloud applies config/cloud/aws, with the fake's address.
func (d *demo) installCloud(ctx context.Context) error {
	dir := filepath.Join(d.root, ".tools", "demo-cloud")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	endpoint := "http://" + d.cluster.Address(cloudHost) + ":4566"
	text := `resources: [../../config/cloud/aws]
patches:
- target: {kind: Deployment, name: ingress-operator}
  patch: |-
    - {op: add, path: /spec/template/spec/containers/0/args/-, value: --cloud-cluster=demo}
    - {op: add, path: /spec/template/spec/containers/0/args/-, value: --aws-endpoint=` + endpoint + `}
    - {op: add, path: /spec/template/spec/containers/0/args/-, value: --dns=route53}
    - {op: add, path: /spec/template/spec/containers/0/args/-, value: --dns-zone=Z1}
    - {op: add, path: /spec/template/spec/containers/0/args/-, value: --dns-drain=5s}
    - {op: add, path: /spec/template/spec/containers/0/env/-, value: {name: AWS_ACCESS_KEY_ID, value: demo}}
    - {op: add, path: /spec/template/spec/containers/0/env/-, value: {name: AWS_SECRET_ACCESS_KEY, value: demo}}
    - {op: add, path: /spec/template/spec/containers/0/env/-, value: {name: AWS_EC2_METADATA_DISABLED, value: "true"}}
`
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o644); err != nil {
		return fmt.Errorf("write the kustomization: %w", err)
	}
	steps := [][]string{
		{"apply", "-k", ".tools/demo-cloud"},
		{"-n", "openshift-ingress-operator", "rollout", "status", "deployment/ingress-operator", "--timeout=120s"},
		{"-n", "openshift-ingress-operator", "wait", "--for=create", "ingresscontroller/default", "--timeout=60s"},
		{"-n", "openshift-ingress-operator", "wait", "--for=condition=LoadBalancerReady", "ingresscontroller/default", "--timeout=180s"},
		{"-n", "openshift-ingress-operator", "wait", "--for=condition=Available", "ingresscontroller/default", "--timeout=120s"},
	}
	for _, args := range steps {
		if _, err := d.kubectl(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// showBalancer shows the Service, and finds the address behind its name.
func (d *demo) showBalancer(ctx context.Context) error {
	if _, err := d.kubectl(ctx, "-n", "openshift-ingress", "get", "service", "router-default"); err != nil {
		return err
	}
	_, err := d.kubectl(ctx, "-n", "openshift-ingress", "get", "events", "--field-selector", "involvedObject.name=router-default,involvedObject.kind=Service",
		"-o", "custom-columns=TYPE:.type,REASON:.reason,MESSAGE:.message")
	if err != nil {
		return err
	}
	s, err := d.cloudState(ctx)
	if err != nil {
		return err
	}
	if len(s.Balancers) != 1 {
		return fmt.Errorf("%d load balancers, want 1", len(s.Balancers))
	}
	d.product.Address = s.Addresses[s.Balancers[0].Name]
	d.say("%s is %s", s.Balancers[0].DNSName, d.product.Address)
	if d.product.Address == "" {
		return errors.New("the load balancer does not listen")
	}
	name, err := d.cluster.Kubectl(ctx, "-n", "openshift-ingress", "get", "service", "router-default", "-o", "jsonpath={.status.loadBalancer.ingress[0].hostname}")
	if err == nil && name != s.Balancers[0].DNSName {
		err = fmt.Errorf("the Service has the name %q", name)
	}
	return err
}

// byName lets the client's resolver ask the fake's DNS server, which answers
// from the Route 53 zone.
func (d *demo) byName(ctx context.Context) error {
	conf := filepath.Join(d.scratch, "resolv.conf")
	if err := os.WriteFile(conf, []byte("nameserver "+d.cluster.Address(cloudHost)+"\n"), 0o644); err != nil {
		return fmt.Errorf("write resolv.conf: %w", err)
	}
	if _, err := d.cluster.Exec(ctx, "client", "mount", "--bind", conf, "/etc/resolv.conf"); err != nil {
		return err
	}
	if _, err := d.kubectl(ctx, "-n", "openshift-ingress-operator", "wait", "--for=condition=DNSReady", "ingresscontroller/default", "--timeout=60s"); err != nil {
		return err
	}
	if _, err := d.kubectl(ctx, "-n", "openshift-ingress-operator", "get", "dnsrecords", "-o", "wide"); err != nil {
		return err
	}
	return wait.Poll{Limit: 60 * time.Second, Every: wait.Slowly}.Until(ctx, "an answer through the load balancer", func() error {
		return d.expect(ctx, "curl -sS -m 5 http://plain."+cloudZone+"/text", "demo v1")
	})
}

// proxyProtocol turns the PROXY protocol on, on both sides: the router then
// knows the client's address although the load balancer stands between.
func (d *demo) proxyProtocol(ctx context.Context) error {
	const patch = `{"spec":{"endpointPublishingStrategy":{"type":"LoadBalancerService","loadBalancer":{"scope":"External","dnsManagementPolicy":"Managed",` +
		`"providerParameters":{"type":"AWS","aws":{"type":"NLB","networkLoadBalancer":{"protocol":"PROXY"}}}}}}}`
	command, client := d.curl("", "http", "plain.apps.example.com", "/?pretty"), d.cluster.Address("client")
	if out, err := d.cluster.Exec(ctx, "client", "sh", "-c", command); err != nil || strings.Contains(out, client) {
		return errors.Join(err, fmt.Errorf("the pod sees the client before it can: %s", out))
	}
	if _, err := d.kubectl(ctx, "-n", "openshift-ingress-operator", "patch", "ingresscontroller", "default", "--type=merge", "-p", patch); err != nil {
		return err
	}
	// Load balancer and routers change one after the other.
	if err := d.inARow(ctx, command, client); err != nil {
		return err
	}
	return d.expect(ctx, command, client)
}

// inARow waits until several answers in a row have a text.
func (d *demo) inARow(ctx context.Context, command, text string) error {
	const enough = 10
	good := 0
	return wait.Poll{Limit: 60 * time.Second, Every: wait.Slowly}.Until(ctx, "answers in a row", func() error {
		out, err := d.cluster.Exec(ctx, "client", "sh", "-c", command)
		if err == nil && !strings.Contains(out, text) {
			err = fmt.Errorf("no %q in the answer: %s", text, out)
		}
		if good++; err != nil {
			good = 0
		}
		if good < enough {
			return errors.Join(err, fmt.Errorf("%d good answers in a row, want %d", good, enough))
		}
		return nil
	})
}

// badAnnotation writes a value that cannot be used.
func (d *demo) badAnnotation(ctx context.Context) error {
	const key = "service.beta.kubernetes.io/aws-load-balancer-healthcheck-path"
	before, err := d.ask(ctx, "journal")
	if err != nil {
		return err
	}
	if _, err := d.kubectl(ctx, "-n", "openshift-ingress", "annotate", "service", "router-default", key+"=healthz"); err != nil {
		return err
	}
	err = wait.Poll{Limit: 30 * time.Second, Every: wait.Slowly}.Until(ctx, "the condition names the setting", func() error {
		out, err := d.cluster.Kubectl(ctx, "-n", "openshift-ingress-operator", "get", "ingresscontroller", "default", "-o",
			`jsonpath={.status.conditions[?(@.type=="LoadBalancerProgressing")].message}`)
		if err == nil && !strings.Contains(out, key) {
			err = fmt.Errorf("LoadBalancerProgressing says %q", out)
		}
		if err == nil {
			d.say("LoadBalancerProgressing: %s", out)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := d.expect(ctx, d.curl("", "http", "plain.apps.example.com", "/text"), "demo v1"); err != nil {
		return err
	}
	after, err := d.ask(ctx, "journal")
	if err == nil && len(changesOf(after)) != len(changesOf(before)) {
		err = errors.New("something was changed")
	}
	_, undo := d.kubectl(ctx, "-n", "openshift-ingress", "annotate", "service", "router-default", key+"-")
	return errors.Join(err, undo)
}

// nodeTarget stops a node: the health check finds it, and the others serve.
func (d *demo) nodeTarget(ctx context.Context) error {
	nodes := d.cluster.Nodes()
	node := nodes[len(nodes)-1]
	d.say("power off: %s", node)
	if err := d.cluster.StopNode(ctx, node); err != nil {
		return err
	}
	err := d.inARow(ctx, d.curl("-f", "http", "plain.apps.example.com", "/text"), "demo v1")
	if err == nil {
		d.say("answers in a row, by the nodes that are left")
	}
	d.say("power on: %s", node)
	if startErr := d.cluster.StartNode(ctx, node); startErr != nil {
		return errors.Join(err, startErr)
	}
	if err != nil {
		return err
	}
	return wait.Poll{Limit: 120 * time.Second, Every: wait.Slowly}.Until(ctx, "all nodes are targets", func() error {
		s, err := d.cloudState(ctx)
		if err == nil && len(s.Balancers[0].Listeners[0].Group.Targets) != len(nodes) {
			err = fmt.Errorf("targets: %v", s.Balancers[0].Listeners[0].Group.Targets)
		}
		return err
	})
}

// journal shows how many calls of which kind were made.
func (d *demo) journal(ctx context.Context) error {
	out, err := d.ask(ctx, "journal")
	if err != nil {
		return err
	}
	count := map[string]int{}
	for line := range strings.Lines(out) {
		count[strings.TrimSpace(line)]++
	}
	var lines []string
	for call, n := range count {
		lines = append(lines, fmt.Sprintf("%4d  %s", n, call))
	}
	slices.Sort(lines)
	slices.Reverse(lines)
	for _, line := range lines {
		d.say("%s", line)
	}
	return nil
}

// removeCloud deletes the IngressController and looks what AWS still has, and
// whether the name went before what it led to.
func (d *demo) removeCloud(ctx context.Context) error {
	before, err := d.ask(ctx, "journal")
	if err != nil {
		return err
	}
	// Otherwise the operator makes it again.
	if _, err := d.kubectl(ctx, "annotate", "namespace", "openshift-ingress-operator", "fairlead.dev/create-default=false"); err != nil {
		return err
	}
	if _, err := d.kubectl(ctx, "-n", "openshift-ingress-operator", "delete", "ingresscontroller", "default", "--timeout=120s"); err != nil {
		return err
	}
	err = wait.Poll{Limit: 120 * time.Second, Every: wait.Slowly}.Until(ctx, "nothing is left on AWS", func() error {
		s, err := d.cloudState(ctx)
		if err != nil {
			return err
		}
		out, err := d.cluster.Kubectl(ctx, "-n", "openshift-ingress", "get", "services", "-o", "name")
		if err == nil && (len(s.orphans()) > 0 || strings.Contains(out, "router-default")) {
			err = fmt.Errorf("left over: %s; Services: %q", strings.Join(s.orphans(), ", "), out)
		}
		return err
	})
	if err != nil {
		return err
	}
	after, err := d.ask(ctx, "journal")
	if err != nil {
		return err
	}
	calls := strings.TrimPrefix(after, before)
	name, balancer := strings.Index(calls, "ChangeResourceRecordSets"), strings.Index(calls, "DeleteLoadBalancer")
	if name < 0 || balancer < name {
		return fmt.Errorf("the name did not go before the load balancer:\n%s", calls)
	}
	d.say("the name went first; nothing is left")
	return nil
}
