// Package cases proves what the router does with objects, one behaviour per
// file in testdata (txtar):
//
//	in.yaml     the objects: Routes, Services, EndpointSlices, Secrets, and Ingresses,
//	            which are converted as by the operator
//	services    short for Services with one slice: "ns/web http=8080 web-1@198.18.250.1"
//	settings    router-wide settings: "wildcards", "inter-namespace", "domain apps.test", "namespace-checks 3",
//	            "patterns 2 3"
//	requests    "GET http://h.test/foo -> 200 pod=web-1 path=/foo"
//	statuses    "ns/route admitted", "ns/route refused InvalidHost text", "ns/route finding NoEndpoints"
//	awaited     the same, but it may take a moment
//	servers     the weights in HAProxy: "ns/route web-1=256 web-2=28"
//	backends    profile and health checks: "ns/route http_random_cookie web-1=5000ms web-2=-"
//	shares      exact shares: "GET http://h.test/ x100 -> web-1=80 web-2=20"
//	delete      objects that go: "Route ns/name"
//
// A file may have several steps: a later one has names such as "step2/in.yaml"
// and changes what the former left.
//
// Every case runs against the deciding packages alone, and with the real
// engine against every HAProxy that the project supports. HAProxy and the pods
// run in a network namespace of the test's own.
package cases
