// Package operator turns IngressController objects into running routers.
//
// Each child object has a file: desiredX (pure) says what the child shall be,
// changedX (pure) says what is to be written so that the live child becomes
// that, or that nothing is; ensure does the reading and writing for all of
// them. The reconciler in controller.go is the list of children in order.
//
//	IngressController ─► settings ─► admission ─► Secrets ─► Deployment ─►
//	    Services ─► PodDisruptionBudget ─► IngressClass ─► status
//
// What the routers do with traffic is not decided here: they read their own
// IngressController, so most of its fields apply without a rollout.
package operator
