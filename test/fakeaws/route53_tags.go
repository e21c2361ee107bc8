package fakeaws

import (
	"encoding/xml"
	"net/http"
)

type tagSet struct {
	ResourceType, ResourceId string
	Tags                     []keyValue `xml:"Tags>Tag"`
}

func tagsForResource(r *request) (any, error) {
	z := r.state.Zones[r.part(2)]
	if z == nil {
		return nil, &apiError{http.StatusNotFound, "NoSuchHostedZone", "No hosted zone found with ID: " + r.part(2)}
	}
	return struct{ ResourceTagSet tagSet }{tagSet{"hostedzone", z.ID, sortedPairs(z.Tags)}}, nil
}

// maxTagZones is how many zones ListTagsForResources takes.
const maxTagZones = 10

func tagsForResources(r *request) (any, error) {
	var in struct {
		Ids []string `xml:"ResourceIds>ResourceId"`
	}
	if err := xml.Unmarshal(r.body, &in); err != nil {
		return nil, refuse("InvalidInput", "%v", err)
	}
	if len(in.Ids) > maxTagZones {
		return nil, refuse("InvalidInput", "at most %d resources", maxTagZones)
	}
	var out struct {
		Sets []tagSet `xml:"ResourceTagSets>ResourceTagSet"`
	}
	for _, id := range in.Ids {
		if z := r.state.Zones[id]; z != nil {
			out.Sets = append(out.Sets, tagSet{"hostedzone", z.ID, sortedPairs(z.Tags)})
		}
	}
	return out, nil
}
