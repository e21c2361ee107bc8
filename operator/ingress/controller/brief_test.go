package controller

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestBriefly: what users read of a refusal names the field and the fault once.
func TestBriefly(t *testing.T) {
	t.Parallel()
	kind := schema.GroupKind{Group: "route.openshift.io", Kind: "Route"}
	routes := schema.GroupResource{Group: "route.openshift.io", Resource: "routes"}
	long := strings.Repeat("x", 5000)
	for _, test := range []struct {
		name string
		err  error
		want string
	}{
		{
			"field", apierrors.NewInvalid(kind, "shop-7f6c", field.ErrorList{field.Invalid(field.NewPath("spec", "path"), long, "must begin with /")}),
			`spec.path: Invalid value: "` + strings.Repeat("x", 40) + `…": must begin with /`,
		},
		{
			"quota", fmt.Errorf("create: %w", apierrors.NewForbidden(routes, "shop-7f6c", errors.New("exceeded quota: routes, requested: count/routes=1, used: count/routes=10, limited: count/routes=10"))),
			"exceeded quota: routes, requested: count/routes=1",
		},
		{"another program", errors.New("line one\nline two"), "line one line two"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := briefly(test.err)
			if !strings.HasPrefix(got, test.want) || strings.Contains(got, "shop-7f6c") || strings.Contains(got, "\n") || len([]rune(got)) > longestRefusal+2 {
				t.Errorf("got %q", got)
			}
		})
	}
}
