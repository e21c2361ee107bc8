package api

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/transport"
	"sigs.k8s.io/controller-runtime/pkg/client"

	names "github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator"
	"github.com/fairlead/fairlead/operator/dns"
	"github.com/fairlead/fairlead/operator/effective"
	ingress "github.com/fairlead/fairlead/operator/ingress/controller"
)

// TestWrittenMeanwhile: what an administrator writes into a load balancer's
// Service while the operator is busy with it stays, as what he writes at any
// other time.
func TestWrittenMeanwhile(t *testing.T) {
	const key = "service.beta.kubernetes.io/aws-load-balancer-type"
	c := newClient(t)
	var once sync.Once
	between := beforeDeployment("router-alb", func(context.Context) error {
		once.Do(func() { // the operator has seen that there is no Service
			if err := c.Create(t.Context(), albService(key)); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second) // and now its cache has it
		})
		return nil
	})
	startOperatorWatched(t, dns.Options{}, operator.Options{Defaults: effective.Defaults{CloudClass: names.LoadBalancerClassAWS}}, ingress.Options{}, between)
	if err := apply(t, albController); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return wantCondition(c, "alb", "Admitted", operatorv1.ConditionTrue, "") })
	eventually(t, func() error {
		service := &corev1.Service{}
		if err := get(t, c, operandKey("router-alb"), service); err != nil {
			return err
		}
		if service.Annotations[names.AnnotationProbe] == "" {
			return fmt.Errorf("the operator has not written it yet: %v", service.Annotations)
		}
		if got := service.Annotations[key]; got != "alb" {
			t.Fatalf("the operator wrote %s=%s over the administrator's alb", key, got)
		}
		return nil
	})
}

// beforeDeployment does something before the operator's request to create a Deployment
// reaches the API server, and fails the request if that fails.
func beforeDeployment(name string, do func(ctx context.Context) error) transport.WrapperFunc {
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/deployments") {
				return next.RoundTrip(r)
			}
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			if bytes.Contains(body, []byte(name)) {
				if err := do(r.Context()); err != nil {
					return nil, err
				}
			}
			return next.RoundTrip(r)
		})
	}
}

// albService is the Service of the IngressController alb, with the type of its
// load balancer in an annotation.
func albService(annotation string) client.Object {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: names.OperandNamespace, Name: "router-alb",
			Labels:      map[string]string{names.LabelOwningIngressController: "alb"},
			Annotations: map[string]string{annotation: "alb"},
		},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: new(names.LoadBalancerClassAWS),
			Ports: []corev1.ServicePort{{Name: "http", Port: 80}},
		},
	}
}
