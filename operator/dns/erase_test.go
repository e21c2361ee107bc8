package dns

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws"
	"github.com/fairlead/fairlead/lbprovider/cloud/dns/route53"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/test/fakeaws"
)

// TestEraseInTheRightAccount: a private zone of another account is changed as
// the role of that account, also when it is not configured any more.
func TestEraseInTheRightAccount(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "own")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	zone := configv1.DNSZone{ID: "ZPRIVATE"}
	notFound := fakeaws.Refuse(http.StatusNotFound, "NoSuchHostedZone", "no such zone")
	for _, test := range []struct {
		name       string
		configured []Zone
		first      *fakeaws.Effect // of the first GetHostedZone
		want       string          // who signed the change
	}{
		{"configured", []Zone{{DNSZone: zone, Private: true}}, nil, "ASIATEST"},
		{"configured as public", []Zone{{DNSZone: zone}}, nil, "own"},
		{"not configured any more", nil, &notFound, "ASIATEST"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cloud := fakeaws.New(fakeaws.Options{})
			cloud.AddZone("ZPRIVATE", "example.com.", true, nil)
			server := httptest.NewServer(cloud)
			t.Cleanup(server.Close)
			access := aws.Access{Region: "eu-central-1", Endpoint: server.URL, MaxBackoff: time.Millisecond, Speed: 1000}
			public, err := aws.Config(t.Context(), access)
			if err != nil {
				t.Fatal(err)
			}
			access.RoleARN = "arn:aws:iam::111122223333:role/private-zones"
			private, err := aws.Config(t.Context(), access)
			if err != nil {
				t.Fatal(err)
			}
			r := &reconciler{options: Options{Hook: route53.New(route53.Options{Public: public, Private: private, Gather: -1})}.withDefaults()}
			record := &hook.Record{Name: "*.apps.example.com.", Type: hook.RecordA, Targets: []string{"198.18.0.1"}, TTL: 30, Owner: "o", Resource: "dnsrecord/ns/n"}
			if _, err := r.write(t.Context(), Zone{DNSZone: zone, Private: true}, record); err != nil {
				t.Fatal(err)
			}
			r.options.Hook = route53.New(route53.Options{Public: public, Private: private, Gather: -1}) // as after a restart
			if test.first != nil {
				cloud.Script(fakeaws.Fault{Service: "route53", Action: "GetHostedZone", Count: 1, Effect: *test.first})
			}
			mark := cloud.Mark()
			if err := r.erase(t.Context(), zone, test.configured, record); err != nil {
				t.Fatal(err)
			}
			if left := cloud.Records("ZPRIVATE"); len(left) > 0 {
				t.Errorf("left: %+v", left)
			}
			changes := fakeaws.Changes(cloud.Since(mark))
			if len(changes) != 1 || changes[0].AccessKey != test.want {
				t.Errorf("changes %+v, want one by %s", changes, test.want)
			}
		})
	}
}

// mute is an API server that does not answer.
type mute struct{ client.Reader }

func (mute) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("connection refused")
}

// TestZonesUnknown: while the cluster does not say which zones are meant, none
// is taken to be dropped.
func TestZonesUnknown(t *testing.T) {
	t.Parallel()
	r := &reconciler{live: mute{}}
	if zones, err := r.zones(t.Context()); err == nil {
		t.Errorf("zones %v, without an error", zones)
	}
	r.options.Zones = []Zone{{DNSZone: configv1.DNSZone{ID: "Z1"}}}
	if zones, err := r.zones(t.Context()); err != nil || len(zones) != 1 {
		t.Errorf("zones %v, %v", zones, err)
	}
}
