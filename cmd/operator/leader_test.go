package main

import (
	"testing"
	"time"

	"k8s.io/client-go/tools/leaderelection"
	ctrl "sigs.k8s.io/controller-runtime"
)

// TestLease: another replica leads within ten seconds, whatever the moment of the kill, and
// one slow answer of the API server ends no replica.
func TestLease(t *testing.T) {
	t.Parallel()
	o := ctrl.Options{}
	leaderElection(&o, true)
	look := time.Duration(float64(*o.RetryPeriod) * (1 + leaderelection.JitterFactor))
	if worst := *o.LeaseDuration + 2*look; worst > 10*time.Second {
		t.Errorf("another replica leads after up to %v, want 10s", worst)
	}
	if requests := *o.RenewDeadline / *o.RetryPeriod; requests < 5 {
		t.Errorf("%d attempts to renew, want 5 or more", requests)
	}
	// client-go refuses less: two replicas could lead at the same time.
	if *o.LeaseDuration <= *o.RenewDeadline || *o.RenewDeadline <= look {
		t.Errorf("lease %v, renewal %v, look %v", *o.LeaseDuration, *o.RenewDeadline, look)
	}
	if !o.LeaderElection || !o.LeaderElectionReleaseOnCancel {
		t.Error("no election, or no release")
	}
}
