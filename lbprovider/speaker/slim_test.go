package speaker

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api/metallb/v1beta1"
)

// TestSlim: what is left of a status object is what its status can be compared
// and written with.
func TestSlim(t *testing.T) {
	t.Parallel()
	marks := map[string]string{v1beta1.LabelNode: "a", v1beta1.LabelServiceName: "web", v1beta1.LabelServiceNamespace: "shop"}
	status := v1beta1.MetalLBServiceBGPStatus{Node: "a", ServiceName: "web", ServiceNamespace: "shop", Peers: []string{"tor"}}
	in := &v1beta1.ServiceBGPStatus{
		TypeMeta: metav1.TypeMeta{Kind: "ServiceBGPStatus"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "metallb-system", Name: "bgp-x", GenerateName: "bgp-", UID: "1", ResourceVersion: "7", Generation: 1, Labels: marks,
			OwnerReferences: []metav1.OwnerReference{{Name: "speaker-a"}}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "speaker"}},
		},
		Status: *status.DeepCopy(),
	}
	out, err := slim(in)
	if err != nil {
		t.Fatal(err)
	}
	want := &v1beta1.ServiceBGPStatus{
		ObjectMeta: metav1.ObjectMeta{Namespace: "metallb-system", Name: "bgp-x", UID: "1", ResourceVersion: "7", Labels: marks},
		Status:     status,
	}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}
