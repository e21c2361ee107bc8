package aws

import (
	"context"
	"errors"
	"net/http"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

func set(codes ...string) map[string]bool {
	all := map[string]bool{}
	for _, c := range codes {
		all[c] = true
	}
	return all
}

func throttleCodes() map[string]bool {
	return set("Throttling", "ThrottlingException", "ThrottledException", "RequestThrottled", "RequestThrottledException", "RequestLimitExceeded",
		"TooManyRequestsException", "SlowDown", "PriorRequestNotComplete", "EC2ThrottledException", "BandwidthLimitExceeded", "LimitExceededException")
}

// classes are the codes of AWS by class. The SDK's error types are not
// reliable: a code that is not modelled for an operation comes as another type.
func classes() map[hook.Class]map[string]bool {
	return map[hook.Class]map[string]bool{
		hook.ClassThrottled:   throttleCodes(),
		hook.ClassUnavailable: set("InternalFailure", "InternalError", "ServiceUnavailable", "ServiceUnavailableException", "Unavailable", "WAFUnavailableEntityException"),
		hook.ClassQuota: set("TooManyLoadBalancers", "TooManyTargetGroups", "TooManyListeners", "TooManyTargets", "TooManyRegistrationsForTargetId",
			"TooManyCertificates", "TooManyTags", "TargetGroupAssociationLimit", "SecurityGroupLimitExceeded", "RulesPerSecurityGroupLimitExceeded",
			"AddressLimitExceeded", "TooManyRules", "TooManyUniqueTargetGroupsPerLoadBalancer"),
		hook.ClassInvalidConfig: set("InvalidSubnet", "SubnetNotFound", "InvalidScheme", "InvalidSecurityGroup", "CertificateNotFound", "SSLPolicyNotFound",
			"ALPNPolicyNotFound", "ALPNPolicyNotSupported", "AllocationIdNotFound", "InvalidConfigurationRequest", "IncompatibleProtocols", "UnsupportedProtocol",
			"InvalidTarget", "ValidationError", "InvalidParameterValue", "InvalidParameterCombination", "AvailabilityZoneNotSupported", "UnsupportedCertificate",
			"InvalidLoadBalancerAction", "InvalidSubnetID.NotFound", "InvalidVpcID.NotFound", "InvalidPermission.Malformed", "WAFInvalidParameterException", "WAFNonexistentItemException"),
		hook.ClassConflict: set("DuplicateLoadBalancerName", "DuplicateTargetGroupName", "DuplicateListener", "InvalidGroup.Duplicate"),
		hook.ClassDenied: set("AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthFailure", "UnrecognizedClientException", "ExpiredToken",
			"ExpiredTokenException", "InvalidClientTokenId", "OptInRequired", "MissingAuthenticationToken", "IncompleteSignature", "SignatureDoesNotMatch", "InvalidIdentityToken"),
		hook.ClassBusy: set("ResourceInUse", "DependencyViolation", "CapacityReservationPending", "InvalidPermission.Duplicate"),
		hook.ClassNotFound: set("LoadBalancerNotFound", "TargetGroupNotFound", "ListenerNotFound", "InvalidGroup.NotFound", "InvalidPermission.NotFound",
			"InvalidInstanceID.NotFound"),
		hook.ClassProtected: set("OperationNotPermitted"),
	}
}

// Classify makes a *hook.Error of what the SDK returned for an action.
func Classify(action string, err error) error {
	if err == nil {
		return nil
	}
	if e := (*hook.Error)(nil); errors.As(err, &e) {
		return err
	}
	e := &hook.Error{Class: hook.ClassInternal, Action: action, Message: err.Error(), Cause: err}
	var response *awshttp.ResponseError
	if errors.As(err, &response) {
		e.RequestID = response.ServiceRequestID()
	}
	var api smithy.APIError
	switch {
	case errors.As(err, &api):
		e.Code, e.Message = api.ErrorCode(), api.ErrorMessage()
		for class, codes := range classes() {
			if codes[e.Code] {
				e.Class = class
				return e
			}
		}
		if response != nil && response.HTTPStatusCode() >= http.StatusInternalServerError {
			e.Class = hook.ClassUnavailable
		}
	case errors.Is(err, context.Canceled):
		e.Class, e.Code = hook.ClassUnavailable, "Canceled"
	case errors.As(err, new(*smithy.OperationError)):
		// No answer: the connection or the credentials failed.
		e.Class = hook.ClassUnavailable
		if denied(err) {
			e.Class, e.Code = hook.ClassDenied, "NoCredentials"
		}
	}
	return e
}

// denied reports whether there are no credentials at all. The SDK has no error
// type for it.
func denied(err error) bool {
	s := err.Error()
	return strings.Contains(s, "get credentials:") || strings.Contains(s, "failed to refresh cached credentials") || strings.Contains(s, "get identity:")
}

// gone reports whether an error says that something does not exist.
func gone(err error) bool { return hook.ClassOf(err) == hook.ClassNotFound }

// codeIs reports whether an error has one of the codes.
func codeIs(err error, codes ...string) bool {
	if err == nil {
		return false
	}
	return set(codes...)[hook.AsError(err).Code]
}

// Throttled reports whether an error code of AWS means too many calls.
func Throttled(code string) bool { return throttleCodes()[code] }
