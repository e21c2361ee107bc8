// Command coredns is CoreDNS with the plugins that the configuration in the conformance suite's manifests names: the suite
// asks it by a UDPRoute. The image that the manifests name has all plugins, which need a hundred modules more.
package main

import (
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/log"
	_ "github.com/coredns/coredns/plugin/whoami"
)

func main() { coremain.Run() }
