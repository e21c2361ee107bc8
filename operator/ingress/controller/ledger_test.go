package controller

import (
	"testing"

	"github.com/fairlead/fairlead/router/door/ingress"
)

// TestLimitsOfNamespace: an Ingress gets what the others leave, and keeps what it
// has when the namespace has more than it may have.
func TestLimitsOfNamespace(t *testing.T) {
	t.Parallel()
	own, all := ingress.Limits{Routes: 10, Secrets: 5, Bytes: 1000}, ingress.Limits{Routes: 20, Secrets: 8, Bytes: 5000}
	a := &account{taken: map[string]ingress.Usage{
		"a": {Routes: 9, Secrets: 5, Bytes: 900},
		"b": {Routes: 9, Secrets: 0, Bytes: 4500},
	}}
	tests := []struct {
		name string
		want ingress.Limits
	}{
		{"a", ingress.Limits{Routes: 10, Secrets: 5, Bytes: 900, Namespace: true}},
		{"b", ingress.Limits{Routes: 10, Secrets: 3, Bytes: 1000, Namespace: true}},
		{"new", ingress.Limits{Routes: 2, Secrets: 3, Bytes: 1, Namespace: true}},
	}
	for _, test := range tests {
		if got := a.left(test.name, own, all); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
	delete(a.taken, "a")
	if got := a.left("new", ingress.Limits{Routes: 10, Secrets: 5, Bytes: 500}, all); got.Namespace || got.Routes != 10 {
		t.Errorf("with room: %+v", got)
	}
}
