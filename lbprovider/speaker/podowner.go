package speaker

import (
	"context"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// podOwner is this speaker's pod, with which its status objects are deleted.
type podOwner struct {
	client client.Reader
	pod    types.NamespacedName
	log    *slog.Logger
}

func newPodOwner(c client.Reader, opts Options) *podOwner {
	return &podOwner{client: c, pod: types.NamespacedName{Namespace: opts.Namespace, Name: opts.PodName}, log: opts.Log.With("part", "status")}
}

// references returns the owner references of a new status object.
func (o *podOwner) references(ctx context.Context) []metav1.OwnerReference {
	if o.pod.Name == "" {
		return nil
	}
	var pod corev1.Pod
	if err := o.client.Get(ctx, o.pod, &pod); err != nil {
		o.log.Info("the status object has no owner", "err", err)
		return nil
	}
	return []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}}
}
