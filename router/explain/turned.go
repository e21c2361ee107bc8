package explain

import (
	"maps"
	"slices"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// turnsNamespace reports whether the change of a namespace may change what is decided about the objects
// of the Gateway API in it: it has come or gone, or has other labels or another policy for all of them.
func turnsNamespace(c ObjectChange) bool { return comesOrGoes(c) || newLabels(c) || newPolicy(c) }

// turnsRoutes reports that of the Routes in it: labels count only where something selects by them.
func (s *Snapshot) turnsRoutes(c ObjectChange) bool {
	return comesOrGoes(c) || newPolicy(c) || newLabels(c) && s.selectsByNamespace()
}

func (s *Snapshot) selectsByNamespace() bool {
	return !s.source.byNamespace.Empty() || slices.ContainsFunc(s.source.policies[""].All(), (*policy.Object).ByLabels)
}

func comesOrGoes(c ObjectChange) bool { return (c.Before == nil) != (c.Now == nil) }

func newLabels(c ObjectChange) bool {
	return c.Before != nil && c.Now != nil && !maps.Equal(c.Before.GetLabels(), c.Now.GetLabels())
}

func newPolicy(c ObjectChange) bool {
	if c.Before == nil || c.Now == nil {
		return false
	}
	of := func(o metav1.Object) *policy.Namespace { return policy.NewNamespace(o.GetLabels(), o.GetAnnotations()) }
	return !of(c.Before).SamePolicy(of(c.Now))
}

// turnRoutes reads the Routes of a namespace again that a change of it turns, and returns them.
func (s *Snapshot) turnRoutes(c ObjectChange, namespace string) model.Objects {
	if !s.turnsRoutes(c) {
		return nil
	}
	return s.source.changeAll(namespace)
}

// changeAll reads the Routes of a namespace again, and returns them.
func (s *source) changeAll(namespace string) model.Objects {
	of := model.Objects{}
	for key := range s.routes {
		if key.Namespace == namespace {
			of[key] = struct{}{}
		}
	}
	for key := range of {
		s.change(key)
	}
	return of
}

// hasRoutes reports whether a namespace has any.
func (s *source) hasRoutes(namespace string) bool {
	for key := range s.routes {
		if key.Namespace == namespace {
			return true
		}
	}
	return false
}

// hasGatewayObjects reports whether a namespace has objects of the Gateway API.
func (o *Objects) hasGatewayObjects(namespace string) bool {
	for key := range o.Gateways {
		if key.Namespace == namespace {
			return true
		}
	}
	return false
}

// passTime has it be later for what is decided from now on, and returns the Routes and the objects of
// the Gateway API whose results have ended since.
func (s *Snapshot) passTime(now time.Time, t *Touched) (ended, ofGateways model.Objects) {
	t.all = true // users are shown certificates, too
	s.options.Now = now
	s.pipeline.SetTime(now)
	if g := s.ofGateways; g != nil {
		g.pipeline.SetTime(now)
		ofGateways = g.pipeline.Ended(now)
	}
	return s.pipeline.Ended(now), ofGateways
}

// markCertificates notes the rows that show a certificate, which may have ended.
func (s *Snapshot) markCertificates() {
	for key, r := range s.source.routes {
		if t := r.Spec.TLS; t != nil && (s.defaultCert != nil || t.Certificate != "" || t.ExternalCertificate != nil || t.Termination == routev1.TLSTerminationReencrypt) {
			s.list.stale[key] = struct{}{}
		}
	}
	s.list.gateways, s.list.listeners = nil, nil
}
