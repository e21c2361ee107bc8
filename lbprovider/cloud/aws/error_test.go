package aws_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/test/fakeaws"
)

// TestClasses: every error code of AWS that load balancers meet has its class,
// as the real SDK delivers it.
func TestClasses(t *testing.T) {
	b := newBed(t, fakeaws.Options{})
	for class, codes := range map[hook.Class]string{
		hook.ClassThrottled: "Throttling ThrottlingException RequestLimitExceeded TooManyRequestsException SlowDown PriorRequestNotComplete " +
			"EC2ThrottledException RequestThrottled RequestThrottledException BandwidthLimitExceeded LimitExceededException",
		hook.ClassUnavailable: "InternalFailure ServiceUnavailable WAFUnavailableEntityException",
		hook.ClassQuota: "TooManyLoadBalancers TooManyTargetGroups TooManyListeners TooManyTargets TooManyRegistrationsForTargetId TooManyCertificates " +
			"TooManyTags TargetGroupAssociationLimit SecurityGroupLimitExceeded RulesPerSecurityGroupLimitExceeded AddressLimitExceeded",
		hook.ClassInvalidConfig: "InvalidSubnet SubnetNotFound InvalidScheme InvalidSecurityGroup CertificateNotFound SSLPolicyNotFound ALPNPolicyNotFound " +
			"AllocationIdNotFound InvalidConfigurationRequest IncompatibleProtocols UnsupportedProtocol InvalidTarget ValidationError AvailabilityZoneNotSupported",
		hook.ClassConflict: "DuplicateLoadBalancerName DuplicateTargetGroupName DuplicateListener InvalidGroup.Duplicate",
		hook.ClassDenied: "AccessDenied AccessDeniedException UnauthorizedOperation AuthFailure UnrecognizedClientException ExpiredToken " +
			"InvalidClientTokenId OptInRequired",
		hook.ClassBusy:      "ResourceInUse DependencyViolation CapacityReservationPending",
		hook.ClassNotFound:  "LoadBalancerNotFound TargetGroupNotFound ListenerNotFound InvalidGroup.NotFound InvalidPermission.NotFound InvalidInstanceID.NotFound",
		hook.ClassProtected: "OperationNotPermitted",
		hook.ClassInternal:  "SomethingNew",
	} {
		for code := range strings.FieldsSeq(codes) {
			b.cloud.Script(fakeaws.Fault{Action: "DescribeLoadBalancers", Effect: fakeaws.Refuse(http.StatusBadRequest, code, "by the script")})
			_, err := b.hook.ListOwned(t.Context())
			b.cloud.Heal()
			if e := hook.AsError(err); e.Class != class || e.Code != code || e.Action != "DescribeLoadBalancers" {
				t.Errorf("%s: %+v, want class %s", code, e, class)
			}
		}
	}
	for _, status := range []int{500, 502, 503, 504} {
		b.cloud.Script(fakeaws.Fault{Action: "DescribeLoadBalancers", Effect: fakeaws.Refuse(status, "SomethingNew", "by the script")})
		if _, err := b.hook.ListOwned(t.Context()); hook.ClassOf(err) != hook.ClassUnavailable {
			t.Errorf("status %d: %v", status, err)
		}
		b.cloud.Heal()
	}
	if got := aws.Classify("x", nil); got != nil {
		t.Errorf("no error became %v", got)
	}
	if got := hook.ClassOf(aws.Classify("x", fmt.Errorf("y: %w", context.Canceled))); got != hook.ClassUnavailable {
		t.Errorf("a call that was ended is %s", got)
	}
	if got := hook.ClassOf(aws.Classify("x", errors.New("y"))); got != hook.ClassInternal {
		t.Errorf("any other error is %s", got)
	}
}

// TestNoAnswer: a call that is never answered ends with the pass, for every
// call on the way up and down, and the next pass goes on.
func TestNoAnswer(t *testing.T) {
	for _, kind := range kinds() {
		t.Run(kind, func(t *testing.T) {
			up, down := undisturbed(t, kind)
			b := newBed(t, fakeaws.Options{})
			spec := b.specOf(kind, 4)
			pass := func(k int, do func(context.Context) error) {
				t.Helper()
				b.cloud.Script(fakeaws.Fault{Action: "[A-CM-Z]*", Skip: k, Effect: fakeaws.Hang()})
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				err := do(ctx)
				cancel()
				b.cloud.Heal()
				if err != nil && hook.ClassOf(err) != hook.ClassUnavailable {
					t.Errorf("after %d calls: %v", k, err)
				}
			}
			for range up {
				pass(1, func(ctx context.Context) error { _, err := b.hook.Ensure(ctx, spec); return err })
			}
			b.ensure(spec)
			b.check(kind, spec)
			for range down {
				pass(1, func(ctx context.Context) error {
					_, err := b.hook.Delete(ctx, &hook.Deletion{Ref: spec.Ref})
					return err
				})
			}
			b.delete(spec.Ref)
			b.checkEmpty()
		})
	}
}
