package api

// Reasons of findings about policies, and of the conditions of RoutePolicies and
// ClusterRoutePolicies.
const (
	// ReasonInvalidPolicy: a policy has a value that the API server should have
	// refused.
	ReasonInvalidPolicy Reason = "InvalidPolicy"
	// ReasonPolicyClosed: something that protects the paths cannot be used, so
	// they answer 503 until it is right. The claim on host and paths is kept.
	ReasonPolicyClosed Reason = "PolicyClosed"
	// ReasonPolicyConflict: two policies of equal rank set a group that only one of
	// them can set; the older one wins.
	ReasonPolicyConflict Reason = "PolicyConflict"
	// ReasonPolicyOverridden: a source of a higher rank sets the group.
	ReasonPolicyOverridden Reason = "PolicyOverridden"
	// ReasonPolicyNotApplicable: the group cannot be applied to the object.
	ReasonPolicyNotApplicable Reason = "PolicyNotApplicable"
	// ReasonTargetNotFound: an object that is named does not exist.
	ReasonTargetNotFound Reason = "TargetNotFound"
	// ReasonLimitExceeded: there is more of something than the router applies.
	ReasonLimitExceeded Reason = "LimitExceeded"
	// ReasonRegexBacktracks: a regular expression could take very long, so it is not
	// applied.
	ReasonRegexBacktracks Reason = "RegexBacktracks"
	// ReasonNotAllowed: a tenant asks for what no administrator has allowed.
	ReasonNotAllowed Reason = "NotAllowed"
	// ReasonSecretNotFound and ReasonSecretInvalid: a Secret that a policy names cannot be
	// used.
	ReasonSecretNotFound Reason = "SecretNotFound"
	ReasonSecretInvalid  Reason = "SecretInvalid"
	// ReasonPageUnavailable: an error page cannot be shown, because the ConfigMap or its
	// key is missing, or holds no page.
	ReasonPageUnavailable Reason = "PageUnavailable"
	// ReasonIssuerUnreachable and ReasonJWKSUnavailable: an OpenID provider, or a set of keys
	// for tokens, cannot be read.
	ReasonIssuerUnreachable Reason = "IssuerUnreachable"
	ReasonJWKSUnavailable   Reason = "JWKSUnavailable"
	// ReasonAuthServerError: an auth server does not decide requests.
	ReasonAuthServerError Reason = "AuthServerError"
	// ReasonTargetForbidden: an address that no tenant may reach through the router.
	ReasonTargetForbidden Reason = "TargetForbidden"
)

// Reasons of the conditions in status.ancestors of policies.
const (
	ReasonPolicyAccepted   Reason = "Accepted"
	ReasonPolicyConflicted Reason = "Conflicted"
	ReasonPolicyInvalid    Reason = "Invalid"
	ReasonPolicyProgrammed Reason = "Programmed"
	ReasonPolicyPending    Reason = "Pending"
	ReasonAgentUnavailable Reason = "AgentUnavailable"
	ReasonPolicyProtecting Reason = "Protecting"
	ReasonClosedPaths      Reason = "ClosedPaths"
	ReasonNotOverridden    Reason = "NotOverridden"
	ReasonOverridden       Reason = "Overridden"
	ReasonResolvedRefs     Reason = "ResolvedRefs"
)

// Types of the conditions of policies.
const (
	ConditionAccepted     = "Accepted"
	ConditionResolvedRefs = "ResolvedRefs"
	ConditionProgrammed   = "Programmed"
	ConditionOverridden   = "Overridden"
	ConditionProtecting   = "Protecting"
)

func policyRemedies() map[Reason]Remedy {
	return map[Reason]Remedy{
		ReasonInvalidPolicy: {
			Severity: SeverityError,
			Cause:    "the policy has a value that the API server should have refused, as one of an older version would not",
			Remedy:   "correct the field as the message says, and install the CustomResourceDefinitions of this version",
		},
		ReasonPolicyClosed: {
			Severity: SeverityError,
			Cause:    "something that protects the paths cannot be read, so it is not known which requests to keep out",
			Remedy:   "correct the value as the message says; to open the paths on purpose, remove it",
		},
		ReasonPolicyConflict: {
			Severity: SeverityWarning,
			Cause:    "two policies of equal rank set the same group for the object, so the older one wins",
			Remedy:   "remove the group from one of the two, or let them name different objects",
		},
		ReasonPolicyOverridden: {
			Severity: SeverityInfo,
			Cause:    "a policy or annotation of a higher rank sets the same group, and groups never mix",
			Remedy:   "nothing, if that is meant; else change the group there, or remove it",
		},
		ReasonPolicyNotApplicable: {
			Severity: SeverityError,
			Cause:    "the group cannot be applied to the object, most often because of its termination",
			Remedy:   "remove the group, or the path of a limit, from the policy, or choose objects that it can be applied to",
		},
		ReasonTargetNotFound: {
			Severity: SeverityError,
			Cause:    "an object that is named does not exist",
			Remedy:   "correct the name, or create the object; what protects keeps the paths closed until then",
		},
		ReasonLimitExceeded: {
			Severity: SeverityError,
			Cause:    "there is more of something than a router applies: 500 policies of a namespace or of the cluster, 4,000 addresses for one object, 100 Routes of a namespace (4,096 in all) whose paths a pattern replaces, or 32 error pages of a Route (1 MiB of a namespace)",
			Remedy:   "join policies, addresses, patterns or pages, or remove some",
		},
		ReasonPageUnavailable: {
			Severity: SeverityWarning,
			Cause:    "a ConfigMap with error pages does not exist, the router may not read it, or a key in it is missing or no page",
			Remedy:   "create or correct the ConfigMap as the message says: a page is a text of at most 16000 bytes",
		},
		ReasonRegexBacktracks: {
			Severity: SeverityWarning,
			Cause:    "the regular expression can match some paths in so many ways that HAProxy could take very long for one request, so it is not applied",
			Remedy:   "write it so that the next character decides, such as [^/]+ for one segment in place of .*, and repeat nothing that repeats",
		},
		ReasonNotAllowed: {
			Severity: SeverityError,
			Cause:    "the policy asks for what an administrator has to allow: another server's address, a fault, or more than the guard of a ClusterRoutePolicy lets tenants have",
			Remedy:   "use a Service of the namespace, or a smaller limit; or have an administrator extend the guard",
		},
	}
}

// policyReferenceRemedies are about what a policy names.
func policyReferenceRemedies() map[Reason]Remedy {
	return map[Reason]Remedy{
		ReasonSecretNotFound: {
			Severity: SeverityError,
			Cause:    "a Secret that the policy names does not exist, or the router may not read it",
			Remedy:   "create the Secret, and give the router's ServiceAccount the rights to get, list and watch it",
		},
		ReasonSecretInvalid: {
			Severity: SeverityError,
			Cause:    "a Secret that the policy names holds nothing that can be used",
			Remedy:   "correct the Secret as the message says",
		},
		ReasonIssuerUnreachable: {
			Severity: SeverityError,
			Cause:    "the policy agent cannot read what the OpenID provider says of itself, or its keys: logins answer 503, or go on by what was read in the last 24 hours, as the message says",
			Remedy:   "start the provider, or correct issuer, caSecret or endpoints; the router tries again by itself, every 30 seconds at the latest",
		},
		ReasonJWKSUnavailable: {
			Severity: SeverityError,
			Cause:    "the policy agent cannot read the keys of an issuer of tokens: requests with its tokens answer 503, or are judged by the keys of the last 24 hours, as the message says",
			Remedy:   "start the server of the keys, or correct jwks.uri or caSecret; the router tries again by itself, every 30 seconds at the latest",
		},
		ReasonAuthServerError: {
			Severity: SeverityWarning,
			Cause:    "the auth server did not answer in time, or answered with a status that decides nothing, for three requests or more with less than five minutes between them; such requests answer 503",
			Remedy:   "look at the auth server's pods and log, correct its address or certificate, or give it more time with external.timeout",
		},
		ReasonTargetForbidden: {
			Severity: SeverityError,
			Cause:    "the address is one of the router's own network, of a node or of the API server, which no tenant may reach through the router",
			Remedy:   "name another server",
		},
	}
}

func policyConditionRemedies() map[Reason]Remedy {
	return map[Reason]Remedy{
		ReasonPolicyAccepted:   {Cause: "the router applies the policy to the objects that the message counts"},
		ReasonPolicyConflicted: {Cause: "an older policy of equal rank sets the same group for the same object", Remedy: "remove the group from one of the two, or let them name different objects"},
		ReasonPolicyInvalid:    {Cause: "the policy has a value that the API server should have refused", Remedy: "correct the field that the message names"},
		ReasonPolicyProgrammed: {Cause: "HAProxy of every ready router replica has what the policy says, for all of its objects"},
		ReasonPolicyPending:    {Cause: "some objects of the policy still wait for their turn, a router replica does not have its version yet, or HAProxy does not answer", Remedy: "wait a moment; if it stays, look at the router's log"},
		ReasonAgentUnavailable: {Cause: "the policy agent beside HAProxy has ended, or has not taken the newest policies in, so what it has to decide gets 503", Remedy: "wait a moment; if it stays, look at the container agent of the router's pods"},
		ReasonPolicyProtecting: {Cause: "the paths of the policy's objects are guarded as it says"},
		ReasonClosedPaths:      {Cause: "paths of the policy's objects answer 503, because something that protects cannot be applied", Remedy: "correct what the message names"},
		ReasonNotOverridden:    {Cause: "each group of the policy is in force"},
		ReasonResolvedRefs:     {Cause: "all Secrets and Services that the policy names can be used"},
		ReasonOverridden:       {Cause: "a source of a higher rank sets a group of the policy for at least one object", Remedy: "nothing, if that is meant; the message names group and winner"},
	}
}
