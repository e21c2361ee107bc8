package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// The version and kind of the operator's configuration file.
const (
	configVersion = "config.fairlead.dev/v1alpha1"
	configKind    = "OperatorConfiguration"
)

// form is how a field of the configuration file is written.
type form int

const (
	text    form = iota // a string, which durations and URLs are too
	toggle              // true or false
	number              // a whole number
	list                // a list of strings, which the flag has separated by commas
	repeat              // a list of strings, for each of which the flag is repeated
	mapping             // strings by name, for each of which the flag is repeated as NAME=VALUE
)

// field is a field of the configuration file, and the flag that says the same.
type field struct {
	path, flag string
	form       form
}

// configFields are all fields. A test demands one for each flag.
func configFields() []field { return slices.Concat(processFields(), cloudFields()) }

// processFields are about the operator itself, its routers and Ingresses.
func processFields() []field {
	return []field{
		{"kubeconfig", "kubeconfig", text},
		{"domain", "domain", text},
		{"healthAddress", "health-address", text},
		{"leaderElect", "leader-elect", toggle},
		{"metrics.address", "metrics-address", text},
		{"metrics.open", "metrics-open", toggle},
		{"log.level", "log-level", text},
		{"log.format", "log-format", text},
		{"router.image", "router-image", text},
		{"router.haproxyVersion", "haproxy-version", text},
		{"router.haproxyImages", "haproxy-image", mapping},
		{"router.routes", "router-routes", number},
		{"router.log.level", "router-log-level", text},
		{"router.log.format", "router-log-format", text},
		{"canary.image", "canary-image", text},
		{"canary.interval", "canary-interval", text},
		{"ingress.withoutClass", "watch-ingress-without-class", toggle},
		{"ingress.routes", "ingress-routes", number},
		{"ingress.routesOfNamespace", "namespace-ingress-routes", number},
		{"ingress.secrets", "ingress-secrets", number},
		{"ingress.secretsOfNamespace", "namespace-ingress-secrets", number},
		{"addresses.assign", "addresses", toggle},
		{"addresses.classes", "lb-class", list},
	}
}

// cloudFields are about names and load balancers outside of the cluster.
func cloudFields() []field {
	return []field{
		{"dns.provider", "dns", text},
		{"dns.owner", "dns-owner", text},
		{"dns.registry", "dns-registry", text},
		{"dns.txtPrefix", "dns-txt-prefix", text},
		{"dns.txtSuffix", "dns-txt-suffix", text},
		{"dns.txtWildcard", "dns-txt-wildcard", text},
		{"dns.zones", "dns-zone", repeat},
		{"dns.privateZones", "dns-private-zone", repeat},
		{"dns.privateZoneRole", "dns-private-zone-role", text},
		{"dns.drain", "dns-drain", text},
		{"dns.ttl", "dns-ttl", text},
		{"dns.baseDomain", "dns-base-domain", text},
		{"dns.webhook.url", "external-dns-webhook", text},
		{"dns.rfc2136.server", "rfc2136-server", text},
		{"dns.rfc2136.key", "rfc2136-key", text},
		{"cloud.provider", "cloud", text},
		{"cloud.cluster", "cloud-cluster", text},
		{"cloud.deleteOrphans", "cloud-delete-orphans", toggle},
		{"cloud.default", "cloud-default", toggle},
		{"cloud.webhook.url", "cloud-webhook", text},
		{"cloud.webhook.ca", "cloud-webhook-ca", text},
		{"cloud.webhook.token", "cloud-webhook-token", text},
		{"cloud.webhook.certificate", "cloud-webhook-cert", text},
		{"cloud.webhook.key", "cloud-webhook-key", text},
		{"aws.region", "aws-region", text},
		{"aws.endpoint", "aws-endpoint", text},
		{"aws.credentials", "aws-credentials", text},
		{"aws.role", "aws-role", text},
		{"aws.externalID", "aws-external-id", text},
		{"aws.vpc", "aws-vpc", text},
		{"aws.scheme", "aws-scheme", text},
		{"aws.targetType", "aws-target-type", text},
		{"aws.nodeSecurityGroups", "aws-node-security-groups", toggle},
		{"aws.drainOnDelete", "aws-drain-on-delete", toggle},
		{"aws.tags", "aws-tags", text},
		{"aws.ownership", "aws-ownership", text},
	}
}

// configFile is the configuration file of a command line.
type configFile struct {
	path string
	// used are the fields whose flags were set from the file.
	used []field
}

func (c *configFile) flags(f *flag.FlagSet) {
	f.StringVar(&c.path, "config", "", "`file` with an "+configKind+" of "+configVersion+"; flags that are given win over it")
}

// read sets the flags that were not given to what the file says. Fields whose
// flag fs does not have are read and not used.
func (c *configFile) read(fs *flag.FlagSet) error {
	if c.path == "" {
		return nil
	}
	data, err := os.ReadFile(c.path)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	values, err := configValues(data)
	if err != nil {
		return fmt.Errorf("--config: %s: %w", c.path, err)
	}
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for _, field := range configFields() {
		value, ok := values[field.path]
		if !ok {
			continue
		}
		texts, err := field.texts(value)
		if err == nil && !given[field.flag] && fs.Lookup(field.flag) != nil {
			c.used = append(c.used, field)
			for _, text := range texts {
				if failed := fs.Set(field.flag, text); failed != nil {
					err = fmt.Errorf("%q: %w", text, failed)
				}
			}
		}
		if err != nil {
			return fmt.Errorf("--config: %s: %s: %w", c.path, field.path, err)
		}
	}
	return nil
}

// explain adds to an error about flags which fields of the file have set them.
func (c *configFile) explain(err error) error {
	if err == nil {
		return nil
	}
	for _, field := range c.used {
		if slices.Contains(strings.FieldsFunc(err.Error(), func(r rune) bool { return strings.ContainsRune(" ,;:=", r) }), "--"+field.flag) {
			err = fmt.Errorf("%w (%s in %s)", err, field.path, c.path)
		}
	}
	return err
}

// configValues returns the values of a configuration file by the path of their
// field.
func configValues(data []byte) (map[string]any, error) {
	converted, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(converted))
	decoder.UseNumber()
	var document map[string]any
	if err := decoder.Decode(&document); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("must be an object with apiVersion and kind: %w", err)
	}
	if got := document["apiVersion"]; got != configVersion {
		return nil, fmt.Errorf("apiVersion: must be %s, not %v", configVersion, got)
	}
	if got := document["kind"]; got != configKind {
		return nil, fmt.Errorf("kind: must be %s, not %v", configKind, got)
	}
	delete(document, "apiVersion")
	delete(document, "kind")
	values := map[string]any{}
	return values, collect(document, "", values)
}

// collect walks an object of the file and puts the values of its fields into values.
func collect(object map[string]any, at string, values map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		path, value := at+name, object[name]
		if slices.ContainsFunc(configFields(), func(f field) bool { return f.path == path }) {
			values[path] = value
			continue
		}
		if !slices.ContainsFunc(configFields(), func(f field) bool { return strings.HasPrefix(f.path, path+".") }) {
			return fmt.Errorf("unknown field %q", path)
		}
		inner, ok := value.(map[string]any)
		if !ok {
			return fmt.Errorf("%s: must be an object", path)
		}
		if err := collect(inner, path+".", values); err != nil {
			return err
		}
	}
	return nil
}

// texts returns the values that the flag of a field is set to, one after the other.
func (f field) texts(value any) ([]string, error) {
	switch f.form {
	case toggle:
		if b, ok := value.(bool); ok {
			return []string{strconv.FormatBool(b)}, nil
		}
		return nil, errors.New("must be true or false")
	case number:
		if n, ok := value.(json.Number); ok {
			if _, err := n.Int64(); err == nil {
				return []string{n.String()}, nil
			}
		}
		return nil, errors.New("must be a whole number")
	case list, repeat:
		items, err := stringList(value)
		if err == nil && f.form == list {
			items = []string{strings.Join(items, ",")}
		}
		return items, err
	case mapping:
		object, ok := value.(map[string]any)
		if !ok {
			return nil, errors.New("must be an object of strings")
		}
		var items []string
		for _, name := range slices.Sorted(maps.Keys(object)) {
			s, ok := object[name].(string)
			if !ok {
				return nil, fmt.Errorf("%q must be a string", name)
			}
			items = append(items, name+"="+s)
		}
		return items, nil
	case text:
	}
	if s, ok := value.(string); ok {
		return []string{s}, nil
	}
	return nil, fmt.Errorf("must be a string; write %q in quotes", fmt.Sprint(value))
}

func stringList(value any) ([]string, error) {
	items, ok := value.([]any)
	if !ok {
		return nil, errors.New("must be a list of strings")
	}
	var texts []string
	for i, item := range items {
		s, ok := item.(string)
		if !ok {
			return nil, fmt.Errorf("item %d must be a string", i+1)
		}
		texts = append(texts, s)
	}
	return texts, nil
}
