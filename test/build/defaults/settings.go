// Package defaults makes the settings of an IngressController that names none.
package defaults

import (
	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/operator/effective"
	"github.com/fairlead/fairlead/test/build"
)

// Settings returns those of an IngressController with a publishing strategy and a number of replicas.
func Settings(t operatorv1.EndpointPublishingStrategyType, replicas int32) effective.Spec {
	ic := build.IngressController(build.Strategy(operatorv1.EndpointPublishingStrategy{Type: t}), func(ic *operatorv1.IngressController) {
		ic.Spec.Replicas = &replicas
	})
	return effective.Of(ic, effective.Cluster{}, effective.Defaults{Domain: "apps.example.com", RouterImage: "router:1"})
}
