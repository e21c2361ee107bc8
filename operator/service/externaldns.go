package service

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/operator/effective"
)

// Annotations by which external-dns is asked to publish the name of a Service.
const (
	AnnotationExternalName = "external-dns.alpha.kubernetes.io/hostname"
	AnnotationExternalTTL  = "external-dns.alpha.kubernetes.io/ttl"
)

// withName asks external-dns for the wildcard name by annotations of the
// Service, where --dns=external-dns-service leaves names to it. What an
// administrator annotated himself wins.
func withName(desired, live *corev1.Service, s effective.Spec) {
	if !s.NameByService {
		return
	}
	annotate(desired, live, map[string]string{
		AnnotationExternalName: "*." + s.Domain, AnnotationExternalTTL: strconv.FormatInt(s.RecordTTL, 10),
	})
}
