package api

import (
	"fmt"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/router/agent/session"
)

// sessionKeysRotate: the operator makes the keys of sessions, adds one to a key of
// yesterday, and makes them again after the Secret was deleted.
func sessionKeysRotate(t *testing.T, c client.Client) {
	t.Helper()
	key := operandKey("router-session-keys-default")
	holds := func(n int, name string) func() error {
		return func() error {
			s := &corev1.Secret{}
			if err := get(t, c, key, s); err != nil {
				return err
			}
			for name, content := range s.Data {
				if _, err := session.Read(name, content); err != nil {
					return err
				}
			}
			if len(s.Data) != n || name != "" && s.Data[name] == nil {
				return fmt.Errorf("%d keys", len(s.Data))
			}
			return nil
		}
	}
	eventually(t, holds(1, ""))
	s := &corev1.Secret{}
	yesterday := session.Name(time.Now().Add(-25 * time.Hour))
	eventually(t, func() error { // the operator may write it between
		if err := get(t, c, key, s); err != nil {
			return err
		}
		s.Data = map[string][]byte{yesterday: make([]byte, session.KeySize), session.Name(time.Now().Add(-50 * time.Hour)): make([]byte, session.KeySize)}
		return c.Update(t.Context(), s)
	})
	nudge(t, c)
	eventually(t, holds(2, yesterday))
	if err := c.Delete(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	nudge(t, c)
	eventually(t, holds(1, ""))
}

// nudge has the operator look at the default IngressController again.
func nudge(t *testing.T, c client.Client) {
	t.Helper()
	ic := &operatorv1.IngressController{}
	if err := get(t, c, icKey("default"), ic); err != nil {
		t.Fatal(err)
	}
	before := ic.DeepCopy()
	if ic.Annotations == nil {
		ic.Annotations = map[string]string{}
	}
	ic.Annotations["example.com/look"] = time.Now().String()
	if err := c.Patch(t.Context(), ic, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}
