package speaker

import (
	"context"
	"fmt"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fairlead/fairlead/api"
)

// ReportOnPod returns a function that says why this speaker does not start: in the
// log, and as an event on its own pod, which is where users look. Without a name
// of the pod there is the log only.
func ReportOnPod(ctx context.Context, mgr ctrl.Manager, pod types.NamespacedName, log *slog.Logger) func(why string) {
	events := mgr.GetEventRecorderFor("fairlead-speaker") //nolint:staticcheck // the newer recorder takes events for equal that differ in their text only
	return func(why string) {
		log.Error("the speaker waits", "reason", why)
		if pod.Name == "" {
			return
		}
		var own corev1.Pod
		if err := mgr.GetAPIReader().Get(ctx, pod, &own); err != nil {
			log.Info("no event on the speaker's pod", "err", fmt.Errorf("get pod %s: %w", pod, err))
			return
		}
		events.Event(&own, corev1.EventTypeWarning, string(api.ReasonForeignProvider), shorten(why))
	}
}
