package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// Bandwidth slows bodies down, each request by itself. It needs
// unsupportedConfigOverrides.bandwidthLimits of the IngressController.
//
// +kubebuilder:validation:XValidation:rule="has(self.download) || has(self.upload)",message="set download, upload or both"
type Bandwidth struct {
	// download is how many bytes a second of an answer reach the client: a whole number from
	// 10Ki to 1Gi.
	//
	// +optional
	Download *resource.Quantity `json:"download,omitempty"`
	// upload is how many bytes a second of a request reach the pod: a whole number from
	// 10Ki to 1Gi.
	//
	// +optional
	Upload *resource.Quantity `json:"upload,omitempty"`
}
