// Package rig sets up what measurements of the router need, all real: etcd and
// kube-apiserver, the router process with its HAProxy, and pods that answer.
//
// Everything runs in one network and process namespace of its own that ends
// with the program, so nothing stays behind, whatever happens. Pods are
// addresses of 198.18.0.0/16 on the namespace's loopback device; each answers
// with the address that was asked, so a changed endpoint shows in the body.
package rig
