package cases

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/doors"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/test/cases/portal"
)

// frontDoors are those of the router, and one that only these tests have. All cases
// run with it.
func frontDoors() []door.Door { return append(doors.All(), portal.Door{}) }

func newPortal(rules ...portal.Rule) *portal.Portal {
	return &portal.Portal{ObjectMeta: metav1.ObjectMeta{Namespace: "f", Name: "portal"}, Rules: rules}
}

// TestFourthDoor: a further kind of object is a folder and a line. Its claims are
// served beside those of Routes, and compete with them: one object has several
// hosts, loses one of them to an older Route, and keeps its last good version.
func TestFourthDoor(t *testing.T) {
	eachVersion(t, testFourthDoor)
}

func testFourthDoor(t *testing.T, version string) {
	b, k := sampleBed(t, version)
	apply := func(ch change) {
		t.Helper()
		b.apply(ch)
		k.apply(ch)
		if err := k.equalsFull(t); err != nil {
			t.Error(err)
		}
	}
	put := func(rules ...portal.Rule) change { return change{put: []metav1.Object{newPortal(rules...)}} }
	web := portal.Rule{Name: "web", Host: "portal.f.test", Path: "/", Service: "web"}
	two := portal.Rule{Name: "two", Host: "portal.f.test", Path: "/two", Service: "two"}
	other := portal.Rule{Name: "other", Host: "other.portal.f.test", Service: "two"}
	taken := portal.Rule{Name: "taken", Host: "plain.f.test", Path: "/a;b", Service: "two"}
	status := func(admitted bool, text string) {
		t.Helper()
		b.eventually("the status", func() error {
			st, known := b.statusOf(model.Object{Kind: portal.Kind, Namespace: "f", Name: "portal"})
			if !known || st.Admitted != admitted || !strings.Contains(st.Message, text) {
				return fmt.Errorf("known %t, admitted %t: %q", known, st.Admitted, st.Message)
			}
			return nil
		})
	}

	apply(put(web, two, other))
	b.serves(k, append(slices.Clone(sampleRequests),
		"GET http://portal.f.test/a -> 200", "GET http://portal.f.test/two/a -> 200", "GET http://other.portal.f.test/ -> 200"))
	status(true, "")

	apply(put(web, two, taken)) // one rule more that an older Route has, and one less
	b.serves(k, append(slices.Clone(sampleRequests),
		"GET http://portal.f.test/two/a -> 200", "GET http://other.portal.f.test/ -> 404"))
	status(false, "already exposes plain.f.test")

	apply(put(web, two))
	status(true, "")
	apply(put(web, portal.Rule{Name: "two", Host: "portal.f.test", Path: "/two"}))
	b.serves(k, []string{"GET http://portal.f.test/two/a -> 200"})
	status(false, "rule two names no Service")

	apply(change{del: []model.Object{{Kind: portal.Kind, Namespace: "f", Name: "portal"}}})
	b.serves(k, append(slices.Clone(sampleRequests), "GET http://portal.f.test/a -> 404"))
	b.eventually("nothing of it is left", func() error {
		for name := range b.readBack().Backends {
			if strings.Contains(name, "portal_") && b.caps.DynamicBackends {
				return errors.New(name)
			}
		}
		return nil
	})
}
