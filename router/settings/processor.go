package settings

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fairlead/fairlead/api"
)

// HAProxyCPU is how much processor time HAProxy reserves where an IngressController says
// nothing, as on OpenShift.
const HAProxyCPU = "100m"

// leastCPU and mostCPU bound what an IngressController may say, in thousandths of a
// processor. Less than the default would have other pods go before HAProxy, and no pod
// starts that reserves more than a node has.
const (
	leastCPU = 100
	mostCPU  = 64_000
)

// HAProxyCPUOf returns the processor time that HAProxy reserves by the annotations of an
// IngressController, and what is wrong with the wish; then it is the default.
func HAProxyCPUOf(annotations map[string]string) (cpu resource.Quantity, fault string) {
	usual := resource.MustParse(HAProxyCPU)
	text, ok := annotations[api.AnnotationHAProxyCPU]
	if !ok {
		return usual, ""
	}
	cpu, err := resource.ParseQuantity(text)
	if err != nil || cpu.CmpInt64(mostCPU/1000) > 0 || cpu.MilliValue() < leastCPU {
		return usual, "must be an amount of processor time from 100m to 64, such as 500m"
	}
	return *resource.NewMilliQuantity(cpu.MilliValue(), resource.DecimalSI), ""
}

// processor says what is wrong with the wish; what the pod has is up to the operator.
func (r *reader) processor(annotations map[string]string) {
	if _, fault := HAProxyCPUOf(annotations); fault != "" {
		r.find("metadata.annotations["+api.AnnotationHAProxyCPU+"]", fault, HAProxyCPU+" is used")
	}
}
