package api

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	names "github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator"
	"github.com/fairlead/fairlead/operator/dns"
	"github.com/fairlead/fairlead/operator/effective"
)

const fieldsController = `apiVersion: operator.openshift.io/v1
kind: IngressController
metadata: {name: fields, namespace: openshift-ingress-operator}
spec:
  domain: fields.example.com
  tlsSecurityProfile:
    type: Custom
    custom:
      minTLSVersion: VersionTLS12
      ciphers: [ECDHE-RSA-AES128-GCM-SHA256]
      groups: [X25519MLKEM768, secp256r1]
  endpointPublishingStrategy:
    type: LoadBalancerService
    loadBalancer:
      scope: External
      providerParameters:
        type: AWS
        aws:
          type: NLB
          networkLoadBalancer:
            securityGroups: [sg-0123456789abcdef0, sg-12345678]
`

// TestNewFields: fields that OpenShift added last reach the status and the
// Service, and no write of the operator drops them.
func TestNewFields(t *testing.T) {
	c, _ := startOperatorWith(t, dns.Options{}, operator.Options{Defaults: effective.Defaults{CloudClass: names.LoadBalancerClassAWS}})
	if err := apply(t, fieldsController); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"{.spec.tlsSecurityProfile.custom.groups}": `["X25519MLKEM768","secp256r1"]`,
		"{.status.tlsProfile.groups}":              `["X25519MLKEM768","secp256r1"]`,
		"{.spec.endpointPublishingStrategy.loadBalancer.providerParameters.aws.networkLoadBalancer.securityGroups}":   `["sg-0123456789abcdef0","sg-12345678"]`,
		"{.status.endpointPublishingStrategy.loadBalancer.providerParameters.aws.networkLoadBalancer.securityGroups}": `["sg-0123456789abcdef0","sg-12345678"]`,
		"{.metadata.finalizers}": `["ingresscontroller.operator.openshift.io/finalizer-ingresscontroller"]`,
	}
	for path, value := range want {
		eventually(t, func() error { return field(t, "fields", path, value) })
	}
	annotation := func(value string) error {
		service := &corev1.Service{}
		if err := get(t, c, operandKey("router-fields"), service); err != nil {
			return err
		}
		if got := service.Annotations["service.beta.kubernetes.io/aws-load-balancer-security-groups"]; got != value {
			return fmt.Errorf("security groups are %q, want %q", got, value)
		}
		return nil
	}
	eventually(t, func() error { return annotation("sg-0123456789abcdef0,sg-12345678") })

	if err := apply(t, strings.Replace(fieldsController, "sg-12345678", "sg-1234567x", 1)); err == nil || !strings.Contains(err.Error(), "hexadecimal") {
		t.Errorf("a group that cannot be one: %v", err)
	}
	if err := apply(t, strings.Replace(fieldsController, "            securityGroups: [sg-0123456789abcdef0, sg-12345678]", "            protocol: TCP", 1)); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return annotation("") })
	eventually(t, func() error {
		return field(t, "fields", "{.status.endpointPublishingStrategy.loadBalancer.providerParameters.aws.networkLoadBalancer.securityGroups}", "")
	})
}

// field compares one field of an IngressController as the API server has it.
func field(t *testing.T, ic, path, want string) error {
	t.Helper()
	got, err := server.Kubectl(t.Context(), "get", "-n", names.OperatorNamespace, "ic/"+ic, "-o", "jsonpath="+path)
	if err == nil && got != want {
		err = fmt.Errorf("%s is %q, want %q", path, got, want)
	}
	return err
}
