package fakeaws

import (
	"encoding/json"
	"net/http"
	"strings"
)

// Metadata is the metadata service of a machine, version 2 only: without a
// token there is no answer. Point AWS_EC2_METADATA_SERVICE_ENDPOINT at it.
type Metadata struct {
	// Region and VPC are those of the machine. What is empty is not found.
	Region, VPC string
	// Silent means that it does not answer, as in a pod behind the hop limit.
	Silent bool
}

const (
	metadataToken = "a-token-of-the-machine"
	metadataMAC   = "02:00:c6:12:00:01"
)

// ServeHTTP answers one question.
func (m *Metadata) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case m.Silent:
		<-r.Context().Done()
		return
	case r.URL.Path == "/latest/api/token":
		if r.Method != http.MethodPut || r.Header.Get("X-Aws-Ec2-Metadata-Token-Ttl-Seconds") == "" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", r.Header.Get("X-Aws-Ec2-Metadata-Token-Ttl-Seconds"))
		_, _ = w.Write([]byte(metadataToken)) // a client that is gone needs no answer
		return
	case r.Header.Get("X-Aws-Ec2-Metadata-Token") != metadataToken:
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	answer := m.answer(r.URL.Path)
	if answer == "" {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	_, _ = w.Write([]byte(answer)) // as above
}

func (m *Metadata) answer(path string) string {
	switch strings.TrimPrefix(path, "/latest/") {
	case "dynamic/instance-identity/document":
		if m.Region == "" {
			return ""
		}
		text, err := json.Marshal(map[string]string{"region": m.Region, "availabilityZone": m.Region + "a", "accountId": "123456789012"})
		if err != nil {
			return ""
		}
		return string(text)
	case "meta-data/placement/region":
		return m.Region
	case "meta-data/mac":
		return metadataMAC
	case "meta-data/network/interfaces/macs/" + metadataMAC + "/vpc-id":
		return m.VPC
	}
	return ""
}
