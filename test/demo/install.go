package main

import "context"

// install applies the manifests and waits for what they start.
func (d *demo) install(ctx context.Context) error {
	if err := d.product.Install(ctx); err != nil {
		return err
	}
	d.say("addresses for Services of type LoadBalancer, free ones of this network: %s", d.cluster.AddressRange())
	_, err := d.kubectl(ctx, "-n", "openshift-ingress-operator", "get", "ingresscontroller")
	return err
}

// samples applies the samples and waits until their pods are ready and their Routes admitted.
func (d *demo) samples(ctx context.Context) error {
	err := d.product.Samples(ctx)
	if _, showErr := d.kubectl(ctx, "-n", "demo", "get", "pods,routes,ingress", "-o", "wide"); err == nil {
		err = showErr
	}
	return err
}
