package stack

// Sample is a value of an annotation that is right, and one that is not, for
// people and for tests.
type Sample struct {
	// Example is empty for annotations that are refused whatever they say.
	Example string
	// Wrong is empty where every value means something. It is wrong on a
	// Service with the ports http (80) and https (443).
	Wrong string
	// Rest goes behind a key that ends with a dot.
	Rest string
}

// Samples are those of all annotations, by key.
func Samples() map[string]Sample {
	all := map[string]Sample{
		AnnotationPrefix + "load-balancer-source-ranges": {Example: "198.18.0.0/16,203.0.113.7/32", Wrong: "198.18.0.0/16,everybody"},
		"fairlead.dev/aws-target-source":                 {Example: "node", Wrong: "machine"},
		"fairlead.dev/aws-alb-certificate-arn":           {Example: "arn:aws:acm:eu-central-1:123456789012:certificate/0000", Wrong: "my-certificate"},
		"fairlead.dev/aws-wafv2-acl-arn":                 {Example: "none", Wrong: "my-acl"},
	}
	for suffix, s := range balancerSamples() {
		all[balancerPrefix+suffix] = s
	}
	for suffix, s := range groupSamples() {
		all[balancerPrefix+suffix] = s
	}
	for _, a := range refused() {
		all[a.Key] = Sample{Wrong: "true"}
	}
	return all
}

func balancerSamples() map[string]Sample {
	return map[string]Sample{
		"type":                                {Example: "nlb", Wrong: "external"},
		"internal":                            {Example: "true"},
		"scheme":                              {Example: "internal", Wrong: "public"},
		"name":                                {Example: "apps-example-com", Wrong: "internal-apps"},
		"ip-address-type":                     {Example: "dualstack", Wrong: "ipv6"},
		"subnets":                             {Example: "subnet-0123456789abcdef0,front-b", Wrong: ","},
		"eip-allocations":                     {Example: "eipalloc-0123456789abcdef0", Wrong: "198.18.0.1"},
		"private-ipv4-addresses":              {Example: "10.0.1.5,10.0.2.5", Wrong: "10.0.1"},
		"security-groups":                     {Example: "sg-0123456789abcdef0", Wrong: "default"},
		"extra-security-groups":               {Example: "sg-0123456789abcdef0", Wrong: "sg-1,sg-1"},
		"manage-backend-security-group-rules": {Example: "false", Wrong: "maybe"},
		"security-group-prefix-lists":         {Example: "pl-0123456789abcdef0", Wrong: "office"},
		"enable-icmp-for-path-mtu-discovery":  {Example: "off", Wrong: "true"},
		"ssl-cert":                            {Example: "arn:aws:acm:eu-central-1:123456789012:certificate/0000", Wrong: "arn:aws:s3:::bucket"},
		"ssl-ports":                           {Example: "https", Wrong: "8443"},
		"ssl-negotiation-policy":              {Example: "ELBSecurityPolicy-TLS13-1-3-2021-06", Wrong: "modern"},
		"backend-protocol":                    {Example: "ssl", Wrong: "http"},
		"alpn-policy":                         {Example: "HTTP2Preferred", Wrong: "h2"},
		"listener-attributes.":                {Example: "tcp.idle_timeout.seconds=6000", Wrong: "tcp.idle_timeout.seconds=5", Rest: "TCP-443"},
		"attributes":                          {Example: "deletion_protection.enabled=true", Wrong: "deletion_protection=on"},
		"cross-zone-load-balancing-enabled":   {Example: "true", Wrong: "yes please"},
		"access-log-enabled":                  {Example: "true", Wrong: "on"},
		"access-log-s3-bucket-name":           {Example: "my-logs", Wrong: "s3://my-logs"},
		"access-log-s3-bucket-prefix":         {Example: "routers", Wrong: "AWSLogs/routers"},
		"connection-idle-timeout":             {Example: "600", Wrong: "10m"},
		"additional-resource-tags":            {Example: `team=edge,note=a\,b`, Wrong: "aws:team=edge"},
	}
}

func groupSamples() map[string]Sample {
	return map[string]Sample{
		"nlb-target-type":                 {Example: "ip", Wrong: "pod"},
		"healthcheck-protocol":            {Example: "http", Wrong: "udp"},
		"healthcheck-port":                {Example: "traffic-port", Wrong: "health"},
		"healthcheck-path":                {Example: "/healthz", Wrong: "healthz"},
		"healthcheck-healthy-threshold":   {Example: "2", Wrong: "1"},
		"healthcheck-unhealthy-threshold": {Example: "2", Wrong: "11"},
		"healthcheck-timeout":             {Example: "4", Wrong: "11"},
		"healthcheck-interval":            {Example: "10", Wrong: "often"},
		"healthcheck-success-codes":       {Example: "200-299,404", Wrong: "ok"},
		"connection-draining-enabled":     {Example: "false", Wrong: "x"},
		"connection-draining-timeout":     {Example: "120", Wrong: "2m"},
		"target-group-attributes":         {Example: "proxy_protocol_v2.enabled=true,preserve_client_ip.enabled=false", Wrong: "proxy=on"},
		"target-group-attributes.":        {Example: "stickiness.enabled=true", Wrong: "stickiness.enabled=maybe", Rest: "443"},
		"proxy-protocol":                  {Example: "*", Wrong: "true"},
		"target-node-labels":              {Example: "node-role.kubernetes.io/infra=", Wrong: "infra"},
	}
}
