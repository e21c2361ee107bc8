package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead/fairlead/router/explain"
)

// handshakeTime bounds a connection with its handshake.
const handshakeTime = 5 * time.Second

// certsFlags are those of the command itself.
type certsFlags struct {
	all          bool
	expiring     string
	sni, connect string
}

func (c *command) certsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "certs [ROUTE]",
		Short: "Which certificates are served, until when, and whether clients accept them",
		Long: `kubectl fairlead certs lists the certificates that the router serves for the hosts of a namespace, where they are from,
and what clients find wrong with them. With ROUTE, as NAME or NAMESPACE/NAME, it shows the chain with each check. Hosts that the default
certificate covers have no line of their own.

Exit code: 0 clients accept all of them, 1 one has expired, does not cover its host, has a broken chain or is refused by the
router, 2 wrong arguments or something could not be read.`,
		Example: `  kubectl fairlead certs -A
  kubectl fairlead certs web/shop
  kubectl fairlead certs -A --expiring 30d
  kubectl fairlead certs --sni www.example.com
  kubectl fairlead certs -f manifests/ -o json`,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f := &certsFlags{}
	cmd.Flags().BoolVarP(&f.all, "all-namespaces", "A", false, "those of all namespaces; default with -f")
	cmd.Flags().StringVar(&f.expiring, "expiring", "", "a certificate that ends within this `DURATION`, such as 30d or 12h, counts as wrong")
	cmd.Flags().StringVar(&f.sni, "sni", "", "make a TLS handshake for this server `NAME`, and compare what is shown with what is planned")
	cmd.Flags().StringVar(&f.connect, "connect", "", "`ADDRESS` or ADDRESS:PORT of the handshake; default is that of the router's Service")
	o := c.addFlags(cmd)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return o.arguments()(cmd, args)
		}
		return o.arguments("a route")(cmd, args)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.certs(cmd.Context(), o, f, args) }
	return cmd
}

func (c *command) certs(ctx context.Context, o *options, f *certsFlags, args []string) error {
	a, err := f.arguments(o, args)
	if err != nil {
		return err
	}
	w, err := c.decide(ctx, o)
	if err != nil {
		return err
	}
	list, err := w.Certs(a)
	if err != nil {
		return err
	}
	if f.sni != "" {
		address, err := f.address(w.RouterAddress())
		if err != nil {
			return err
		}
		leaf, err := handshake(ctx, address, f.sni)
		if err != nil {
			return fmt.Errorf("ask %s for the certificate of %s: %w", address, f.sni, err)
		}
		w.Compare(list, f.sni, address, leaf)
	}
	return c.finish(list, list.Good(f.expiring != ""), o)
}

func (f *certsFlags) arguments(o *options, args []string) (explain.CertArgs, error) {
	a := explain.CertArgs{}
	switch {
	case f.all && (o.namespace != "" || len(args) > 0):
		return a, &usageError{"--all-namespaces goes with neither a namespace nor a route"}
	case f.connect != "" && f.sni == "":
		return a, &usageError{"--connect needs --sni, the name to ask for"}
	}
	if f.expiring != "" {
		var err error
		if a.Expiring, err = days(f.expiring); err != nil {
			return a, &usageError{fmt.Sprintf("--expiring %q is no duration, such as 30d or 12h", f.expiring)}
		}
	}
	if len(args) == 1 {
		name := strings.TrimPrefix(args[0], "route/")
		if namespace, rest, ok := strings.Cut(name, "/"); ok {
			o.namespace, name = namespace, rest
		}
		if name == "" || strings.Contains(name, "/") {
			return a, &usageError{fmt.Sprintf("%q names no route; write NAME or NAMESPACE/NAME", args[0])}
		}
		a.Name = name
	}
	if f.all || a.Name == "" && o.namespace == "" && len(o.files) > 0 {
		return a, nil
	}
	var err error
	a.Namespace, err = o.ownNamespace()
	return a, err
}

// days reads a duration, which may be of days.
func days(text string) (time.Duration, error) {
	if number, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(number, 10, 16)
		if err == nil && n == 0 {
			err = strconv.ErrRange
		}
		return time.Duration(n) * 24 * time.Hour, err //nolint:wrapcheck // the caller has words for it
	}
	d, err := time.ParseDuration(text)
	if err == nil && d <= 0 {
		err = strconv.ErrRange
	}
	return d, err //nolint:wrapcheck // the caller has words for it
}

// address returns where to connect.
func (f *certsFlags) address(router string) (string, error) {
	address := f.connect
	if address == "" {
		address = router
	}
	if address == "" {
		return "", &usageError{"the router's address is not known; name one with --connect"}
	}
	if _, _, err := net.SplitHostPort(address); err == nil {
		return address, nil
	}
	return net.JoinHostPort(strings.Trim(address, "[]"), "443"), nil
}

// handshake returns the certificate that a server shows for a name.
func handshake(ctx context.Context, address, name string) (*x509.Certificate, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	dialer := &tls.Dialer{Config: &tls.Config{
		ServerName: name, InsecureSkipVerify: true, //nolint:gosec // what is shown is compared, not believed
		NextProtos: []string{"h2", "http/1.1"},
	}}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller says what it was about
	}
	defer conn.Close()
	shown := conn.(*tls.Conn).ConnectionState().PeerCertificates //nolint:forcetypeassert // a tls.Dialer makes no other
	if len(shown) == 0 {
		return nil, errors.New("no certificate was shown")
	}
	return shown[0], nil
}
