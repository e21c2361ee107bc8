package pipeline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/doors"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
)

// manyRoutes is a Gateway with HTTPRoutes of one namespace, each older than the next.
type manyRoutes struct {
	gateways

	routes map[model.Object]*gatewayv1.HTTPRoute
}

func (c *manyRoutes) All() []model.Object {
	keys := []model.Object{theGateway}
	for key := range c.routes {
		keys = append(keys, key)
	}
	return keys
}

func (c *manyRoutes) Object(key model.Object) door.Version {
	if r := c.routes[key]; r != nil {
		return r
	}
	return c.gateways.Object(key)
}

// put adds a route that asks for a claim for each of some hostnames.
func (c *manyRoutes) put(n, hosts int) model.Object {
	r := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: fmt.Sprint("r", n), UID: "u", CreationTimestamp: metav1.NewTime(time.Unix(int64(n), 0)),
	}}
	r.Spec.ParentRefs = []gatewayv1.ParentReference{{Name: "gw"}}
	for h := range hosts {
		r.Spec.Hostnames = append(r.Spec.Hostnames, gatewayv1.Hostname(fmt.Sprintf("h%d-%d.test", n, h)))
	}
	r.Spec.Rules = []gatewayv1.HTTPRouteRule{{}}
	key := model.Object{Kind: gateway.KindHTTPRoute, Namespace: "ns", Name: r.Name}
	c.routes[key] = r
	return key
}

// TestClaimShares: of a namespace with too many claims the oldest routes are served, whatever
// the order in which they come; a refused one says so, and has its turn once there is room.
func TestClaimShares(t *testing.T) {
	t.Parallel()
	c := &manyRoutes{gateways: gateways{gateway: &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "gw", UID: "g"}}}, routes: map[model.Object]*gatewayv1.HTTPRoute{}}
	c.gateway.Spec.Listeners = []gatewayv1.Listener{{Name: "a", Port: 80, Protocol: "HTTP"}}
	p := pipeline.New(doors.All(), c, door.Settings{RouterName: "default", NamespaceClaims: 10}, &model.Certificate{ID: "default:default:1", PEM: "x"})
	p.Update(door.Changes{All: true})
	served := func(want ...string) {
		t.Helper()
		hosts := map[string]bool{}
		for e := range p.Want().Entries {
			if _, name, is := strings.Cut(e.Key, "~h"); is {
				hosts["r"+name[:strings.Index(name, "-")]] = true //nolint:gocritic // each has one
			}
		}
		var got []string
		for name := range hosts {
			got = append(got, name)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("served %v, want %v", got, want)
		}
	}
	change := func(keys ...model.Object) {
		ch := door.Changes{Objects: model.Objects{}}
		for _, key := range keys {
			ch.Objects[key] = struct{}{}
		}
		p.Update(ch)
	}
	change(c.put(3, 6))
	served("r3")
	change(c.put(2, 4))
	served("r2", "r3")
	change(c.put(1, 5)) // with r2 there is no room for r3
	served("r1", "r2")
	third := model.Object{Kind: gateway.KindHTTPRoute, Namespace: "ns", Name: "r3"}
	if st := p.Status(third); len(st.Findings) == 0 || st.Findings[0].Reason != "LimitExceeded" {
		t.Errorf("the refused route says %+v", st)
	}
	first := model.Object{Kind: gateway.KindHTTPRoute, Namespace: "ns", Name: "r1"}
	delete(c.routes, first)
	change(first)
	served("r2", "r3")
}
