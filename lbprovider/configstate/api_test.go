package configstate_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/lbprovider/config"
	"github.com/fairlead/fairlead/lbprovider/configstate"
	"github.com/fairlead/fairlead/test/metallbapi"
)

// TestSpeakerState: the newest state is written, under the node's name, and the
// object is as it was reported again after another program changes or deletes it.
func TestSpeakerState(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: takes an API server")
	}
	a := metallbapi.Start(t, "../..")
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	a.Must(a.Create(t.Context(), node))
	r := configstate.New(configstate.Options{
		Reader: a.Client, Writer: a.Client, Namespace: api.ProviderNamespace, Node: "n1", Check: 100 * time.Millisecond, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	report := func(findings ...api.Finding) { r.Report(config.State(config.Speaker, findings)) }
	state := &v1beta1.ConfigurationState{ObjectMeta: metallbapi.Meta("speaker-n1")}
	wait := func(want v1beta1.ConfigurationResult, reason string) {
		t.Helper()
		a.Eventually(func() string {
			if err := a.Get(t.Context(), client.ObjectKeyFromObject(state), state); err != nil {
				return err.Error()
			}
			if s := state.Status; s.Result != want || len(s.Conditions) != 1 || s.Conditions[0].Reason != reason {
				return fmt.Sprintf("%+v, want %s %s", s, want, reason)
			}
			return ""
		})
	}
	report()
	wait(v1beta1.ConfigurationValid, v1beta1.ReasonReconciled)
	if state.Labels[v1beta1.LabelComponentType] != "speaker" || state.Labels[v1beta1.LabelNodeName] != "n1" ||
		len(state.OwnerReferences) != 1 || state.OwnerReferences[0].UID != node.UID {
		t.Errorf("labels %v, owners %v", state.Labels, state.OwnerReferences)
	}
	missing := api.Finding{Severity: api.SeverityError, Reason: api.ReasonMissingReference, Message: "no such profile"}
	report(missing)
	wait(v1beta1.ConfigurationInvalid, v1beta1.ReasonMissingReference)
	wrong := api.Finding{Severity: api.SeverityError, Reason: api.ReasonInvalidField, Message: "bad"}
	report(wrong)
	wait(v1beta1.ConfigurationInvalid, v1beta1.ReasonConfigurationError)
	// What others do to the object is undone although nothing new is reported.
	a.Must(a.Delete(t.Context(), state))
	wait(v1beta1.ConfigurationInvalid, v1beta1.ReasonConfigurationError)
	state.Status.Result = v1beta1.ConfigurationValid
	a.Must(a.Status().Update(t.Context(), state))
	wait(v1beta1.ConfigurationInvalid, v1beta1.ReasonConfigurationError)
	report()
	wait(v1beta1.ConfigurationValid, v1beta1.ReasonReconciled)
}
