package explain

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/router/model"
)

const (
	// shownPods is how many pods of a Service a message names.
	shownPods = 3
	// longestName is that of a pod.
	longestName = 253
)

// behindAll says it of the Services of a route that are there; of others, a finding says that they are missing.
func (s *Snapshot) behindAll(route model.Object) (all []string) {
	for _, service := range s.pipeline.Services(route) {
		if s.source.Service(service) != nil {
			all = append(all, s.behind(service))
		}
	}
	return all
}

// behind says why a Service has no endpoint that takes requests, and the command that shows more: the pods that are not ready, or that
// its selector finds none.
func (s *Snapshot) behind(service model.Object) string {
	object := s.objects.Services[service]
	var names []string
	for _, p := range s.notReady(service) {
		// The name is what the EndpointSlice says, which any user of the namespace may write.
		if p.Name != "" && len(p.Name) <= longestName && !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	switch {
	case len(names) > 0:
		return notReadyText(names, service.Name) + ": " + terminal.Command("kubectl", "-n", service.Namespace, "describe", "pod/"+names[0])
	case object != nil && len(object.Spec.Selector) > 0 && object.Spec.Type != corev1.ServiceTypeExternalName && s.noEndpoint(service):
		selector := labels.Set(object.Spec.Selector).String()
		return fmt.Sprintf("the selector %s of Service %s finds no pod that runs: %s", selector, service.Name,
			terminal.Command("kubectl", "-n", service.Namespace, "get", "pods", "-l", selector))
	}
	return "see what is behind the Service: " + slicesCommand(service)
}

// noEndpoint reports whether a Service has no endpoint at all, not even one that is not ready.
func (s *Snapshot) noEndpoint(service model.Object) bool {
	for _, slice := range s.objects.Slices[service] {
		if len(slice.Endpoints) > 0 {
			return false
		}
	}
	return true
}

func notReadyText(pods []string, service string) string {
	if len(pods) == 1 {
		return fmt.Sprintf("pod %s, the only one of Service %s, is not ready; its events say why", pods[0], service)
	}
	more := ""
	if n := len(pods) - shownPods; n > 0 {
		pods, more = pods[:shownPods], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("pods %s%s of Service %s are not ready; events say why", strings.Join(pods, ", "), more, service)
}
