// Package agent tests the policy agent beside a real HAProxy: verdicts, and what happens
// to requests when workers are killed, hang, or lie. Nothing protected may reach the pod,
// whatever fails.
package agent
