package fakeaws

type groupItem struct {
	ID   string `xml:"groupId"`
	Name string `xml:"groupName"`
}

type instanceXML struct {
	ID     string `xml:"instanceId"`
	VPC    string `xml:"vpcId"`
	Subnet string `xml:"subnetId"`
	IP     string `xml:"privateIpAddress"`
	State  struct {
		Code int    `xml:"code"`
		Name string `xml:"name"`
	} `xml:"instanceState"`
	Placement struct {
		Zone string `xml:"availabilityZone"`
	} `xml:"placement"`
	Groups     []groupItem    `xml:"groupSet>item"`
	Interfaces []interfaceXML `xml:"networkInterfaceSet>item"`
	Tags       []tagXML       `xml:"tagSet>item"`
}

type interfaceXML struct {
	IP         string `xml:"privateIpAddress"`
	Attachment struct {
		Index int `xml:"deviceIndex"`
	} `xml:"attachment"`
	Groups []groupItem `xml:"groupSet>item"`
}

// maxInstances is how many instances one answer has.
const maxInstances = 1000

func describeInstances(r *request) (any, error) {
	found, err := selected(r, r.state.Instances, r.form.list("InstanceId"), "InvalidInstanceID.NotFound", func(i *instance) (tags, map[string][]string) {
		return i.Tags, map[string][]string{"vpc-id": {i.VPC}, "instance-state-name": {i.State}, "private-ip-address": {i.IP}, "instance-id": {i.ID}}
	})
	if err != nil {
		return nil, err
	}
	if len(found) > maxInstances {
		found = found[:maxInstances]
	}
	type reservation struct {
		Instances []instanceXML `xml:"instancesSet>item"`
	}
	var out struct {
		Set []reservation `xml:"reservationSet>item"`
	}
	for _, i := range found {
		x := instanceXML{ID: i.ID, VPC: i.VPC, Subnet: i.Subnet, IP: i.IP, Tags: tagItems(i.Tags)}
		x.State.Name = i.State
		if i.State == "running" {
			x.State.Code = 16
		}
		x.Placement.Zone = i.Zone
		for _, id := range i.Groups {
			x.Groups = append(x.Groups, groupItem{id, r.state.groupName(id)})
		}
		x.Interfaces = []interfaceXML{{IP: i.IP, Groups: x.Groups}}
		out.Set = append(out.Set, reservation{[]instanceXML{x}})
	}
	return out, nil
}
