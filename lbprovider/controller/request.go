package controller

import "k8s.io/apimachinery/pkg/types"

// request is what a Reconcile is to do. The types below are all that there are.
type request interface {
	isRequest()
	String() string
}

// convergeAll reads the configuration and decides about every Service.
type convergeAll struct{}

// convergeService decides about one Service.
type convergeService types.NamespacedName

// updateStatus writes the status of the configuration's objects.
type updateStatus struct{}

// updateUsage writes which Service uses which address.
type updateUsage struct{}

// findOther looks for another MetalLB.
type findOther struct{}

func (convergeAll) isRequest()     {}
func (convergeService) isRequest() {}
func (updateStatus) isRequest()    {}
func (updateUsage) isRequest()     {}
func (findOther) isRequest()       {}

func (convergeAll) String() string       { return "converge all" }
func (r convergeService) String() string { return "service " + types.NamespacedName(r).String() }
func (updateStatus) String() string      { return "update status" }
func (updateUsage) String() string       { return "update usage" }
func (findOther) String() string         { return "find another MetalLB" }
