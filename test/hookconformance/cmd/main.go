// Command cmd tests a webhook for Fairlead's cloud hook:
//
//	go run ./test/hookconformance/cmd --url https://127.0.0.1:8443 --ca ca.crt --token token --spec spec.json
//
// It prints a line for each promise, and exits 1 if one is broken.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/lbprovider/cloud/webhook"
	"github.com/fairlead/fairlead/test/hookconformance"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	url := flag.String("url", "", "`URL` of the webhook: https://…, http://… or unix:///…")
	ca := flag.String("ca", "", "`file` with the CA of its certificate")
	token := flag.String("token", "", "`file` with the bearer token")
	specFile := flag.String("spec", "", "`file` with a hook.Spec as JSON, whose nodes exist in the cloud; by default one without nodes")
	cluster := flag.String("cluster", "conformance", "`name` of the cluster in the cloud")
	name := flag.String("dns-name", "", "`name` that is not in use, to test how names are published, instead of load balancers")
	patience := flag.Duration("patience", 10*time.Minute, "how long a load balancer may take to come or go")
	flag.Parse()
	o := webhook.Options{URL: *url}
	if *ca != "" {
		pem, err := os.ReadFile(*ca)
		if err != nil {
			return fmt.Errorf("read the CA: %w", err)
		}
		o.CA = pem
	}
	if *token != "" {
		o.Token = func() (string, error) {
			text, err := os.ReadFile(*token)
			return string(text), err
		}
	}
	client, err := webhook.New(o)
	if err != nil {
		return err
	}
	if *name != "" {
		return report(hookconformance.RunNames(ctx, hookconformance.NameOptions{Hook: client, Name: *name, Patience: *patience}))
	}
	spec := hook.Spec{Ports: []hook.Port{
		{Name: "http", Protocol: "TCP", Port: 80, NodePort: 30080, TargetPort: 80}, {Name: "https", Protocol: "TCP", Port: 443, NodePort: 30443, TargetPort: 443},
	}}
	if *specFile != "" {
		text, err := os.ReadFile(*specFile)
		if err != nil {
			return fmt.Errorf("read the spec: %w", err)
		}
		if err := json.Unmarshal(text, &spec); err != nil {
			return fmt.Errorf("read the spec: %w", err)
		}
	}
	return report(hookconformance.Run(ctx, hookconformance.Options{Hook: client, Spec: spec, Cluster: *cluster, Patience: *patience}))
}

func report(all []hookconformance.Finding) error {
	for _, f := range all {
		fmt.Fprintln(os.Stdout, f)
	}
	if len(hookconformance.Broken(all)) > 0 {
		return errors.New("the webhook breaks promises")
	}
	return nil
}
