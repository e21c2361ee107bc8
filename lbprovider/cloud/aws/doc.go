// Package aws makes AWS's network and application load balancers, through the
// AWS SDK. It is the implementation of hook.LoadBalancerHook for AWS.
//
// What there shall be, and which calls lead there, is decided in package
// stack. This package reads what there is, carries the calls out, and tells
// AWS's errors apart. A pass of Ensure:
//
//	look up by tags (once) ─▶ stack.Desire ─▶ read what is old ─▶ stack.Plan ─▶ calls
//
// Nothing is changed on the ground of something that was read long ago: where
// a plan is not empty, everything is read again before it is carried out.
package aws
