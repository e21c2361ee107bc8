package collect

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/check"
	"github.com/fairlead/fairlead/lbprovider/inspect"
	"github.com/fairlead/fairlead/lbprovider/inspect/cluster"
	"github.com/fairlead/fairlead/lbprovider/service"
)

const (
	// maxSecrets bounds the requests for Secrets, at once and in all.
	maxSecrets, secretsAtOnce = 300, 16
	// maxBalancers bounds the requests for EndpointSlices.
	maxBalancers = 100
)

// secrets reads the certificates that are in Secrets. Keys are dropped at once.
func (r *reader) secrets(ctx context.Context) {
	s := r.snapshot
	var keys []client.ObjectKey
	for i := range s.Controllers {
		keys = append(keys, client.ObjectKey{Namespace: api.OperandNamespace, Name: api.CertificateSecretName(s.Controllers[i].Name)})
	}
	for i := range s.Routes {
		if t := s.Routes[i].Spec.TLS; t != nil && t.ExternalCertificate != nil {
			keys = append(keys, client.ObjectKey{Namespace: s.Routes[i].Namespace, Name: t.ExternalCertificate.Name})
		}
	}
	slices.SortFunc(keys, func(a, b client.ObjectKey) int { return strings.Compare(a.String(), b.String()) })
	keys = slices.Compact(keys)
	var why []string
	if len(keys) > maxSecrets {
		why = append(why, fmt.Sprintf("only %d of %d were read", maxSecrets, len(keys)))
		keys = keys[:maxSecrets]
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	refused, failed, room := 0, "", make(chan struct{}, secretsAtOnce)
	for _, key := range keys {
		wg.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			chain, err := r.chain(ctx, key)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				s.Chains[key.String()] = chain
			case apierrors.IsForbidden(err):
				refused++
			default:
				failed = err.Error()
			}
		})
	}
	wg.Wait()
	if refused > 0 {
		why = append(why, fmt.Sprintf("%s read %d of %d", forbidden, refused, len(keys)))
	}
	if failed != "" {
		why = append(why, failed)
	}
	if len(why) > 0 {
		r.gap(check.SourceSecrets, check.Reading{Why: strings.Join(why, "; "), Some: true})
	}
}

// chain returns the certificates of a Secret, "" if it does not exist.
func (r *reader) chain(ctx context.Context, key client.ObjectKey) (string, error) {
	secret := &corev1.Secret{}
	err := r.client.Get(ctx, key, secret)
	if err != nil && !apierrors.IsNotFound(err) {
		return "", err //nolint:wrapcheck // the caller looks at its kind
	}
	var chain strings.Builder
	for rest := secret.Data[corev1.TLSCertKey]; ; {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			return chain.String(), nil
		}
		if b.Type == "CERTIFICATE" {
			chain.Write(pem.EncodeToMemory(b))
		}
	}
}

// addresses asks the speakers, and decides from objects where none answers.
func (r *reader) addresses(ctx context.Context) {
	s := r.snapshot
	o := &inspect.Objects{
		Services: s.Services, Nodes: s.Nodes, Speakers: s.SpeakerPods, L2: r.l2, BGP: r.bgp, Sessions: s.Sessions,
		Reported: map[string][]inspect.Row{}, Unreachable: map[string]string{}, Classes: service.DefaultClasses(),
	}
	o.Config.ProviderNamespace, o.Config.Pools, o.Config.L2Advertisements = api.ProviderNamespace, s.Pools, r.advertisements
	cluster.Ask(ctx, r.config, o)
	for node := range o.Reported {
		s.Reported = append(s.Reported, node)
	}
	slices.Sort(s.Reported)
	s.Unreachable = o.Unreachable
	if len(o.Reported) == 0 {
		r.slices(ctx, o)
		for _, why := range o.Unreachable {
			if strings.Contains(why, "forbidden") {
				why = forbidden + " forward ports of pods in namespace " + api.ProviderNamespace
			}
			r.gap(check.SourceReports, check.Reading{Why: why})
			break
		}
	}
	s.Addresses = inspect.Look(o, netip.Addr{})
}

// slices reads the endpoints of Services with an address, which the speakers know
// better.
func (r *reader) slices(ctx context.Context, o *inspect.Objects) {
	asked := 0
	for i := range o.Services {
		v := &o.Services[i]
		if addrs, _ := service.StatusAddresses(v); !o.Classes.Ours(v) || len(addrs) == 0 || asked == maxBalancers {
			continue
		}
		asked++
		found := &discoveryv1.EndpointSliceList{}
		if err := r.client.List(ctx, found, client.InNamespace(v.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: v.Name}); err != nil {
			r.gap(check.SourceL2, check.Reading{Why: "endpoints of Services: " + reason(err)})
			return
		}
		o.Slices = append(o.Slices, found.Items...)
	}
}
