package settings

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fairlead/fairlead/api"
)

// reserve is how much processor time a container of router pods reserves: an annotation of
// the IngressController says it, at least the default, with which others would go before it
// already.
type reserve struct {
	annotation string
	usual      resource.Quantity
}

// mostCPU bounds what an IngressController may say, in processors: no pod starts that
// reserves more than a node has.
const mostCPU = 64

// reserveHAProxy has the default of OpenShift.
func reserveHAProxy() reserve { return reserve{api.AnnotationHAProxyCPU, resource.MustParse("100m")} }

func reserveRouter() reserve { return reserve{api.AnnotationRouterCPU, resource.MustParse("25m")} }

// HAProxyCPUOf returns the processor time that HAProxy reserves by the annotations of an
// IngressController, 100m where they say nothing that can be used.
func HAProxyCPUOf(annotations map[string]string) resource.Quantity {
	cpu, _ := reserveHAProxy().from(annotations)
	return cpu
}

// RouterCPUOf returns what the router process reserves, 25m where the annotations say nothing
// that can be used.
func RouterCPUOf(annotations map[string]string) resource.Quantity {
	cpu, _ := reserveRouter().from(annotations)
	return cpu
}

// from returns the processor time by the annotations, and what is wrong with the wish; then
// it is the default.
func (r reserve) from(annotations map[string]string) (cpu resource.Quantity, fault string) {
	text, ok := annotations[r.annotation]
	if !ok {
		return r.usual, ""
	}
	cpu, err := resource.ParseQuantity(text)
	if err != nil || cpu.CmpInt64(mostCPU) > 0 || cpu.MilliValue() < r.usual.MilliValue() {
		return r.usual, "must be an amount of processor time from " + r.usual.String() + " to 64, such as 500m"
	}
	return *resource.NewMilliQuantity(cpu.MilliValue(), resource.DecimalSI), ""
}

// processor says what is wrong with the wishes; what the pod has is up to the operator.
func (r *reader) processor(annotations map[string]string) {
	for _, container := range []reserve{reserveHAProxy(), reserveRouter()} {
		if _, fault := container.from(annotations); fault != "" {
			r.find("metadata.annotations["+container.annotation+"]", fault, container.usual.String()+" is used")
		}
	}
}
