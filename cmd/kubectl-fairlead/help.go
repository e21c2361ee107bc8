package main

// helpOf returns the help text of a command, or of the program for "".
func helpOf(command string) string {
	switch command {
	case "":
		return helpProgram
	case "explain":
		return helpExplain + helpSource
	case "why":
		return helpWhy + helpSource
	case "lint":
		return helpLint + helpSource
	case "render":
		return helpRender + helpSource
	case "lb":
		return helpLB
	}
	return ""
}

const helpProgram = `kubectl fairlead says what becomes of a request, and why.

  explain URL           which route, certificate and endpoints a request gets
  why KIND/NAME         what a route, ingress, service or policy does, and what shadows it
  lint                  what is wrong with manifests; for CI
  render                the HAProxy configuration that manifests give
  lb [ADDRESS]          who announces an address, since when, and who would be next

All of them read a cluster, or with -f manifests (not lb). kubectl fairlead COMMAND --help has examples.
`

const helpExplain = `kubectl fairlead explain URL says what becomes of a request, and why.

Examples
  kubectl fairlead explain https://www.example.com/shop/cart
  kubectl fairlead explain http://10.1.2.3/ -H 'Host: www.example.com'
  kubectl fairlead explain https://www.example.com/ --sni other.example.com
  kubectl fairlead explain https://www.example.com/ --client-ip 203.0.113.7
  kubectl fairlead explain https://www.example.com/ -f manifests/ -o json

Flags
  -H, --header 'Name: value'  a request header, such as Host or Cookie; may be repeated
      --sni NAME              server name of the TLS hello; default is the URL's host, - sends none
      --client-ip IP          address of the client, for allow-lists

Exit code: 0 served, 1 not served, 2 wrong arguments or something could not be read.
`

//nolint:gosec // a text without credentials
const helpWhy = `kubectl fairlead why KIND/NAME says which URLs reach an object, what shadows it and what its findings mean.

Examples
  kubectl fairlead why route/shop -n web
  kubectl fairlead why ingress/shop
  kubectl fairlead why service/cart -f manifests/
  kubectl fairlead why routepolicy/members

Exit code: 0 served, 1 not served, 2 wrong arguments or something could not be read.
`

const helpLint = `kubectl fairlead lint says what is wrong with manifests, or with the objects of a cluster.

Examples
  kubectl fairlead lint -f manifests/
  kustomize build . | kubectl fairlead lint -f -
  kubectl fairlead lint -n web

Each line has file:line, object, field, reason and message.
Exit code: 0 no error (warnings may be there), 1 errors, 2 wrong arguments or something could not be read.
`

const helpRender = `kubectl fairlead render shows the HAProxy configuration, maps and certificate list that manifests give.
Private keys are not shown.

Examples
  kubectl fairlead render -f manifests/
  kubectl fairlead render -f manifests/ --haproxy 3.0
  kubectl fairlead render -f manifests/ -o json | jq -r '.files["haproxy.cfg"]'
  kubectl fairlead render -f manifests/ --check

Flags
      --haproxy VERSION       write for HAProxy 3.0, 3.2 or 3.4 (default)
      --check                 show no files; read the configuration as HAProxy's configuration library does, and
                              report sections that are missing and lines that are not understood

Exit code: 0 done, 1 --check found something, 2 wrong arguments or something could not be read.
`

const helpLB = `kubectl fairlead lb [ADDRESS] says which node announces an address, since when, which nodes would be next, which
are excluded and why, and by which BGP sessions. Without ADDRESS it lists all.

It asks the speakers, by port forwarding, because they alone know whom they reach; all of them should say the same. What
your rights do not allow is reported, and then the objects alone decide.

Examples
  kubectl fairlead lb
  kubectl fairlead lb 192.168.10.201
  kubectl fairlead lb 192.168.10.201 -o json

Flags
      --objects-only          do not ask the speakers
      --kubeconfig FILE       default is $KUBECONFIG, then ~/.kube/config
      --context NAME          context of the kubeconfig
  -o, --output text|json      default is text

Exit code: 0 announced, 1 not announced or the speakers disagree, 2 wrong arguments or something could not be read.
`

const helpSource = `
Where from
  -f, --filename PATH         manifests: a file, a folder (with all below it) or - for standard input; may be repeated
  -n, --namespace NAME        namespace of the object, and of manifests that name none
      --router NAME           the IngressController to ask; default is "default", or the only one
      --domain DOMAIN         completes routes without host; default is the IngressController's
      --kubeconfig FILE       default is $KUBECONFIG, then ~/.kube/config
      --context NAME          context of the kubeconfig
  -o, --output text|json      default is text
`
