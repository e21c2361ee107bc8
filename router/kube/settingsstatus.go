package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead/fairlead/api"
)

// settingsReport is what this router says about its own IngressController.
type settingsReport struct {
	// known is true once the settings have been read.
	known    bool
	findings []api.Finding
	// wake has room for one value.
	wake chan struct{}
}

func (r *settingsReport) ring() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// settingsRetry is the pause after a write that failed.
const settingsRetry = 5 * time.Second

// PublishSettings takes the newest findings about the IngressController. They
// become its condition SettingsApplied, and events. It never blocks.
func (s *StatusWriter) PublishSettings(findings []api.Finding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings.known, s.settings.findings = true, slices.Clone(findings)
	s.settings.ring()
}

// writeSettings keeps the condition until ctx ends.
func (s *StatusWriter) writeSettings(ctx context.Context) {
	for {
		wait := time.Hour
		if err := s.updateSettings(ctx); err != nil && ctx.Err() == nil {
			s.log.errorLimited("cannot write the status of the ingress controller, retrying", "err", err)
			wait = settingsRetry
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-s.settings.wake:
		case <-timer.C:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// updateSettings writes the condition if it differs from what stands there.
func (s *StatusWriter) updateSettings(ctx context.Context) error {
	s.mu.Lock()
	known, findings := s.settings.known, s.settings.findings
	s.mu.Unlock()
	// The one last seen may have been deleted since; the store knows.
	ic := s.watcher.controllers.get(keyOf(kindController, &metav1.ObjectMeta{Namespace: s.watcher.namespace, Name: s.watcher.name}))
	if !known || ic == nil {
		return nil
	}
	want, reported, differs := settingsCondition(ic.Status.Conditions, findings, metav1.Now().Rfc3339Copy())
	if !differs {
		return nil
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": operatorv1.GroupVersion.String(), "kind": "IngressController",
		"metadata": map[string]any{"namespace": ic.Namespace, "name": ic.Name},
		"status":   map[string]any{"conditions": []operatorv1.OperatorCondition{want}},
	})
	if err != nil {
		return fmt.Errorf("encode the condition %s: %w", want.Type, err)
	}
	// Server-side apply changes this condition and none of the operator's.
	err = s.watcher.clients.operator.Patch(types.ApplyPatchType).
		Namespace(ic.Namespace).Resource("ingresscontrollers").Name(ic.Name).SubResource("status").
		Param("fieldManager", "router-"+s.watcher.name).Param("force", "true").
		Body(body).Do(ctx).Error()
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("write condition %s of IngressController %s: %w", want.Type, ic.Name, err)
	}
	for _, f := range reported {
		s.events.warn(corev1.ObjectReference{
			APIVersion: operatorv1.GroupVersion.String(), Kind: "IngressController",
			Namespace: ic.Namespace, Name: ic.Name, UID: ic.UID, ResourceVersion: ic.ResourceVersion,
		}, string(f.Reason), shorten(f.Text()))
	}
	return nil
}

// maxConditionMessage is far below what the API server stores.
const maxConditionMessage = 8192

// settingsCondition returns the condition that findings stand for, those of
// them that the current conditions do not tell, and whether it is another one
// than the current.
func settingsCondition(current []operatorv1.OperatorCondition, findings []api.Finding, now metav1.Time) (operatorv1.OperatorCondition, []api.Finding, bool) {
	want := operatorv1.OperatorCondition{
		Type: api.ConditionSettingsApplied, Status: operatorv1.ConditionTrue, Reason: "AsExpected", LastTransitionTime: now,
	}
	var texts []string
	for _, f := range findings {
		texts = append(texts, f.Text())
	}
	want.Message = strings.Join(texts, "; ")
	findings = grave(findings)
	if len(findings) > 0 {
		want.Status, want.Reason = operatorv1.ConditionFalse, string(findings[0].Reason)
	}
	if len(want.Message) > maxConditionMessage {
		want.Message = want.Message[:maxConditionMessage] + " ..."
	}
	i := slices.IndexFunc(current, func(c operatorv1.OperatorCondition) bool { return c.Type == want.Type })
	if i < 0 {
		return want, findings, true
	}
	old := current[i]
	if old.Status == want.Status {
		want.LastTransitionTime = old.LastTransitionTime
	}
	reported := slices.DeleteFunc(slices.Clone(findings), func(f api.Finding) bool { return strings.Contains(old.Message, f.Text()) })
	return want, reported, old.Status != want.Status || old.Reason != want.Reason || old.Message != want.Message
}
