// Command openid is the example provider of github.com/zitadel/oidc, whose library is
// certified by the OpenID Foundation, served by TLS. Its user is test-user2 with the
// password verysecure, its client is "web" with the password "secret".
package main

import (
	"flag"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
)

func main() {
	listen := flag.String("listen", "", "`address` with port to listen on")
	redirect := flag.String("redirect", "", "redirect `URI` of the client")
	certificate := flag.String("certificate", "", "PEM `file` with certificate and key")
	flag.Parse()
	issuer := "https://" + *listen + "/"
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	storage.RegisterClients(storage.WebClient("web", "secret", *redirect))
	s := &http.Server{
		Addr: *listen, ReadHeaderTimeout: 10 * time.Second,
		Handler: exampleop.SetupServer(issuer, storage.NewStorage(storage.NewUserStore(issuer)), log, false),
	}
	if err := s.ListenAndServeTLS(*certificate, *certificate); err != nil {
		log.Error("ended", "err", err)
		os.Exit(1)
	}
}
