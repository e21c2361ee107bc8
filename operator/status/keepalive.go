package status

import (
	"cmp"
	"fmt"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/operator/service"
	"github.com/fairlead/fairlead/router/model"
	router "github.com/fairlead/fairlead/router/settings"
)

// conditionKeepAlive is ours: the router closes idle connections while the load
// balancer still sends requests on them. It is there only if it is true.
const conditionKeepAlive = "KeepAliveTooShort"

// keepAliveConditions compares how long the load balancer and the router use idle
// connections.
func keepAliveConditions(ic *operatorv1.IngressController, balancer *corev1.Service, dialect hook.Dialect) []condition {
	idle := service.CloudFront(balancer, dialect).Reuses
	keeps := keepAliveOf(ic)
	if idle == 0 || keeps > idle {
		return nil
	}
	return []condition{isTrue(conditionKeepAlive, api.ReasonRouterClosesFirst, fmt.Sprintf(
		"The router closes idle connections after %v (spec.tuningOptions.httpKeepAliveTimeout), the load balancer uses them for %v: "+
			"clients get a 502 now and then. The router's time must be the longer one", keeps, idle))}
}

// keepAliveOf returns how long the router keeps idle connections.
func keepAliveOf(ic *operatorv1.IngressController) time.Duration {
	settings, _ := router.From(ic, router.Flags{}) // the router reports what is wrong with it
	return cmp.Or(settings.Render.Timeouts.KeepAlive, model.DefaultKeepAlive)
}
