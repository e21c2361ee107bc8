package dns

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Follow calls changed with what dns.config.openshift.io/cluster says, at once
// and whenever that is something else, until the context ends; with nil where
// there is no such object. It looks again and again, because most clusters do
// not have that kind and some get it later.
func Follow(ctx context.Context, from client.Reader, every time.Duration, log *slog.Logger, changed func(*configv1.DNSSpec)) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	var last *configv1.DNSSpec
	for first := true; ; {
		now, err := ReadCluster(ctx, from)
		switch {
		case err != nil && ctx.Err() == nil:
			log.Error("cannot read the cluster's DNS settings, the last ones stay", "err", err)
		case err == nil && (first || !equality.Semantic.DeepEqual(last, now)):
			last, first = now, false
			changed(now)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// ReadCluster returns the spec of dns.config.openshift.io/cluster, or nil.
func ReadCluster(ctx context.Context, from client.Reader) (*configv1.DNSSpec, error) {
	d := &configv1.DNS{}
	err := from.Get(ctx, client.ObjectKey{Name: "cluster"}, d)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read DNS cluster: %w", err)
	}
	return &d.Spec, nil
}

// PrivateZoneRole returns the role (ARN) that the cluster's DNS object has for
// private zones of another AWS account, or "". The object may be nil.
func PrivateZoneRole(cluster *configv1.DNSSpec) string {
	if cluster == nil || cluster.Platform.AWS == nil {
		return ""
	}
	return cluster.Platform.AWS.PrivateZoneIAMRole
}
