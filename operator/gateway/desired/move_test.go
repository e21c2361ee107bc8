package desired_test

import (
	"fmt"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/operator/gateway/desired"
)

// TestDrain: the slot that a port has moved from is freed once all router pods are newer.
func TestDrain(t *testing.T) {
	t.Parallel()
	pod := func(ago time.Duration) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now().Add(-ago))}}
	}
	for _, test := range []struct {
		pods []corev1.Pod
		want bool
	}{
		{nil, false},
		{[]corev1.Pod{pod(3 * time.Hour), pod(time.Minute)}, false},
		{[]corev1.Pod{pod(time.Hour)}, false}, // it may have been led there
		{[]corev1.Pod{pod(50 * time.Minute), pod(time.Minute)}, true},
	} {
		table := gateway.Table{21000: movedSlot("shop", "web", "1", 443, now().Add(-time.Hour)), 22000: slot("shop", "web", "1", 443, time.Time{})}
		if got := desired.Drain(table, named("shop", "web", "1"), test.pods, now()); got != test.want || table[21000].Moved == test.want {
			t.Errorf("%v: drained %t", test.pods, got)
		}
	}
}

// TestMove: clients of a port that moves are led to its new slot once the routers serve there
// what the former one cannot, and then for good.
func TestMove(t *testing.T) {
	t.Parallel()
	const from, to = 21000, 22000
	port := gateway.Port{Number: 443}
	moving := func(ago time.Duration, change func(*desired.Input)) *desired.Input {
		in := input(operatorv1.LoadBalancerServiceStrategyType)
		in.Gateway.Spec.Listeners = []gatewayv1.Listener{{Name: "web", Port: 443, Protocol: "HTTPS"}, {Name: "pass", Port: 443, Protocol: "TLS", Hostname: new(gatewayv1.Hostname("a.test")), TLS: &gatewayv1.ListenerTLSConfig{Mode: new(gatewayv1.TLSModePassthrough)}}}
		in.Gateway.Status.Listeners = nil
		in.TakeSlots(gateway.Table{from: slot("shop", "web", "1", 443, time.Time{})})
		in.Service = in.DesiredService()
		in.Service.Spec.IPFamilies = []corev1.IPFamily{"IPv4"}
		in.TakeSlots(gateway.Table{from: movedSlot("shop", "web", "1", 443, now().Add(-ago)), to: slot("shop", "web", "1", 443, time.Time{})})
		if change != nil {
			change(&in)
		}
		in.Joint = gateway.Join(in.Gateway, nil, nil)
		return &in
	}
	programmed := func(name gatewayv1.SectionName) func(*desired.Input) {
		return func(in *desired.Input) { routersSay(in.Gateway, name, metav1.ConditionTrue, "Programmed", "") }
	}
	led := func(in *desired.Input) { in.Service.Spec.Ports[0].TargetPort.IntVal = to }
	for _, test := range []struct {
		name string
		in   *desired.Input
		want int32
		next time.Duration
	}{
		{"the routers say nothing", moving(2*time.Second, nil), from, time.Second},
		{"they serve what was there before", moving(2*time.Second, programmed("web")), from, time.Second},
		{"they serve what came", moving(2*time.Second, programmed("pass")), to, gateway.Linger - 2*time.Second},
		{"right away", moving(0, programmed("pass")), from, time.Second},
		{"they are silent for long", moving(30*time.Second, nil), to, gateway.Linger - 30*time.Second},
		{"clients are led there already", moving(2*time.Second, led), to, gateway.Linger - 2*time.Second},
		{"it is time to free the former slot", moving(gateway.Linger, led), to, time.Second},
		{"what was there has gone", moving(0, func(in *desired.Input) { in.Gateway.Spec.Listeners = in.Gateway.Spec.Listeners[1:] }), to, time.Second},
	} {
		var ports []string
		for _, p := range test.in.DesiredService().Spec.Ports {
			ports = append(ports, fmt.Sprintf("%d to %d", p.Port, p.TargetPort.IntVal))
		}
		slices := test.in.DesiredSlices()
		want := fmt.Sprintf("[%d to %d] %d", port.Number, test.want, test.want)
		if got := fmt.Sprintf("%v %d", ports, *slices[0].Ports[0].Port); got != want || test.in.Moving() != test.next {
			t.Errorf("%s: %s, looked at again after %v; want %s, %v", test.name, got, test.in.Moving(), want, test.next)
		}
	}
}
