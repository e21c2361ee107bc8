package fakeaws

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

func stsOperations() map[string]operation {
	return map[string]operation{
		"GetCallerIdentity":         callerIdentity,
		"AssumeRole":                assumeRole,
		"AssumeRoleWithWebIdentity": assumeRole,
	}
}

func callerIdentity(r *request) (any, error) {
	return struct{ Arn, UserId, Account string }{
		"arn:aws:sts::" + r.cloud.options.Account + ":assumed-role/fairlead/test", "AROATEST:test", r.cloud.options.Account,
	}, nil
}

// credentialTime is how long credentials of a role hold.
const credentialTime = time.Hour

func assumeRole(r *request) (any, error) {
	if r.form.get("RoleArn") == "" || r.form.get("RoleSessionName") == "" {
		return nil, refuse("ValidationError", "a role and a session name are required")
	}
	if r.action == "AssumeRoleWithWebIdentity" && r.form.get("WebIdentityToken") == "" {
		return nil, refuse("InvalidIdentityToken", "no token")
	}
	type credentials struct{ AccessKeyId, SecretAccessKey, SessionToken, Expiration string }
	var out struct {
		Credentials credentials
	}
	out.Credentials = credentials{"ASIATEST", "secret", "token", r.now.Add(credentialTime).UTC().Format(time.RFC3339)}
	return out, nil
}

// acmOperations are those of the certificate manager.
func acmOperations() map[string]operation {
	return map[string]operation{"ListCertificates": listCertificates, "DescribeCertificate": describeCertificate}
}

type certificateJSON struct {
	CertificateArn string
	DomainName     string
	Status         string
	Names          []string `json:"SubjectAlternativeNames,omitempty"`
	Summaries      []string `json:"SubjectAlternativeNameSummaries,omitempty"`
	More           bool     `json:"HasAdditionalSubjectAlternativeNames"`
}

func listCertificates(r *request) (any, error) {
	var in struct{ CertificateStatuses []string }
	if err := json.Unmarshal(r.body, &in); err != nil {
		return nil, refuse("SerializationException", "%v", err)
	}
	list := []certificateJSON{}
	for _, c := range sortedValues(r.state.Certificates) {
		if len(in.CertificateStatuses) == 0 || slices.Contains(in.CertificateStatuses, c.Status) {
			list = append(list, certificateJSON{CertificateArn: c.ARN, DomainName: c.Domain, Status: c.Status, Summaries: c.Names[:1], More: len(c.Names) > 1})
		}
	}
	return map[string]any{"CertificateSummaryList": list}, nil
}

func describeCertificate(r *request) (any, error) {
	var in struct{ CertificateArn string }
	if err := json.Unmarshal(r.body, &in); err != nil {
		return nil, refuse("SerializationException", "%v", err)
	}
	c := r.state.Certificates[in.CertificateArn]
	if c == nil {
		return nil, refuse("ResourceNotFoundException", "Could not find certificate %s", in.CertificateArn)
	}
	return map[string]any{"Certificate": certificateJSON{CertificateArn: c.ARN, DomainName: c.Domain, Status: c.Status, Names: c.Names}}, nil
}

// wafOperations are those of the web application firewall that a load balancer needs.
func wafOperations() map[string]operation {
	return map[string]operation{"GetWebACLForResource": getACL, "AssociateWebACL": associateACL, "DisassociateWebACL": disassociateACL}
}

type aclInput struct{ ResourceArn, WebACLArn string }

func (r *request) acl() (aclInput, error) {
	var in aclInput
	if err := json.Unmarshal(r.body, &in); err != nil {
		return in, refuse("SerializationException", "%v", err)
	}
	if r.state.Balancers[in.ResourceArn] == nil {
		return in, refuse("WAFUnavailableEntityException", "AWS WAF couldn't retrieve the resource that you requested. Retry your request.")
	}
	return in, nil
}

func getACL(r *request) (any, error) {
	in, err := r.acl()
	if err != nil {
		return nil, err
	}
	if arn := r.state.ACLs[in.ResourceArn]; arn != "" {
		return map[string]any{"WebACL": map[string]any{"ARN": arn, "Name": arn[strings.LastIndex(arn, "/")+1:], "Id": "1"}}, nil
	}
	return map[string]any{}, nil
}

func associateACL(r *request) (any, error) {
	in, err := r.acl()
	if err != nil {
		return nil, err
	}
	r.state.ACLs[in.ResourceArn] = in.WebACLArn
	return map[string]any{}, nil
}

func disassociateACL(r *request) (any, error) {
	in, err := r.acl()
	if err != nil {
		return nil, err
	}
	delete(r.state.ACLs, in.ResourceArn)
	return map[string]any{}, nil
}
