// Package dns publishes DNSRecords: it reads them, asks a hook.DNSHook to write
// them to every zone, and says in their status how that went.
//
//	IngressController ─▶ operator ─▶ DNSRecord ─▶ dns ─▶ hook.DNSHook ─▶ a DNS service
//
// What is to be published is decided by pure functions in record.go, claim.go
// and condition.go; controller.go reads and writes.
package dns

import (
	"context"
	"log/slog"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// Options are the settings of the controller.
type Options struct {
	// Hook writes records. Without it nothing is published.
	Hook hook.DNSHook
	// Zones are where every record is published. Without any, those of the
	// object dns.config.openshift.io/cluster are used, and without that the
	// longest zone that a name lies in.
	Zones []Zone
	// Owner marks our records, apart from those of others, also of other clusters.
	Owner string
	// Retry is when a failed write is tried again, and twice as long after each
	// further failure, up to MaxRetry; the defaults are 30 seconds and 5 minutes.
	Retry, MaxRetry time.Duration
	// Resync is how often what is published is looked at again, because
	// another program may have changed it; the default is 10 minutes.
	Resync time.Duration
	// ClusterPoll is how often the cluster's DNS object is looked at; the
	// default is 15 seconds.
	ClusterPoll time.Duration
	// Drain is the longest that a deleted DNSRecord stays after its name is gone
	// from the zones, until resolvers have forgotten it: its TTL, or a minute for
	// an alias of Route 53. 0 lets it go at once.
	Drain time.Duration
	// Registerer gets the metrics; may be nil.
	Registerer prometheus.Registerer
	// Now returns the time; the default is time.Now.
	Now func() time.Time
	// Log receives what the controller does; the default is slog.Default.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Retry == 0 {
		o.Retry = 30 * time.Second
	}
	if o.MaxRetry == 0 {
		o.MaxRetry = max(o.Retry, 5*time.Minute)
	}
	if o.Resync == 0 {
		o.Resync = 10 * time.Minute
	}
	if o.ClusterPoll == 0 {
		o.ClusterPoll = 15 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

// Zone is a zone as users name it.
type Zone struct {
	configv1.DNSZone
	// Private is true for a zone that only a private network sees.
	Private bool
}

// selector returns what the hook looks for. A Zone that names nothing means
// the zone of the name.
func (z Zone) selector(name string) hook.ZoneSelector {
	s := hook.ZoneSelector{ID: z.ID, Tags: z.Tags, Private: z.Private}
	if s.ID == "" && len(s.Tags) == 0 {
		s.Suffix = name
	}
	return s
}

// zonesOf returns the zones of the cluster's DNS object, private first, as
// OpenShift does.
func zonesOf(d *configv1.DNSSpec) []Zone {
	var list []Zone
	if z := d.PrivateZone; z != nil {
		list = append(list, Zone{DNSZone: *z, Private: true})
	}
	if z := d.PublicZone; z != nil {
		list = append(list, Zone{DNSZone: *z})
	}
	return list
}

// zones returns where a record is to be published. An error leaves open what
// the cluster says, and nothing must be concluded from it.
func (r *reconciler) zones(ctx context.Context) ([]Zone, error) {
	if len(r.options.Zones) > 0 {
		return r.options.Zones, nil
	}
	d, err := ReadCluster(ctx, r.live)
	if err != nil {
		return nil, err
	}
	if d != nil {
		if list := zonesOf(d); len(list) > 0 {
			return list, nil
		}
	}
	return []Zone{{}}, nil
}
