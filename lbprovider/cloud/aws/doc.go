// Package aws makes network and application load balancers of AWS through the
// AWS SDK. It is the implementation of hook.LoadBalancerHook for AWS.
//
// Package stack decides; this package reads and carries out. Four things are
// kept apart:
//
//	what exists        stack.Observed   made by find, read and After (observe.go)
//	what is wanted     stack.Stack      made by stack.Desire
//	the calls between  []stack.Action   made by stack.Plan
//	who makes them     calls            carryout.go and calls_*.go
//
// Ensure is a list of steps (ensure.go). Nothing is changed because of what was
// read long ago: if a plan is not empty, everything that is not fresh is read
// again before it is carried out.
package aws
