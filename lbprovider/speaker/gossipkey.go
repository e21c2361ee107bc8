package speaker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

const (
	// secretKey is the key in the data of the speakers' Secret.
	secretKey   = "secretkey"
	secretRetry = time.Second
)

// ReadKey waits for the Secret with the key of the gossip and returns the key.
// A speaker without it could not reach the others, and would take their
// addresses. An empty name means that the gossip is not encrypted. It returns an
// error only when ctx ends.
func ReadKey(ctx context.Context, reader client.Reader, name types.NamespacedName, log *slog.Logger) ([]byte, error) {
	if name.Name == "" {
		return nil, nil
	}
	for reported := ""; ; {
		var secret corev1.Secret
		err := reader.Get(ctx, name, &secret)
		if err == nil && len(secret.Data[secretKey]) > 0 {
			return secret.Data[secretKey], nil
		}
		switch {
		case apierrors.IsNotFound(err):
			err = errors.New("it does not exist yet; the operator makes it")
		case err == nil:
			err = fmt.Errorf("it has no key %q", secretKey)
		}
		if reported != err.Error() {
			reported = err.Error()
			log.Info("waiting for the secret of the speakers", "secret", name.String(), "reason", reported)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for secret %s: %w", name, ctx.Err())
		case <-time.After(secretRetry):
		}
	}
}

// WatchKey has every change of the Secret's key sent on the channel that it
// returns, after mgr has started. Without a name it does nothing.
func WatchKey(mgr ctrl.Manager, name types.NamespacedName) (<-chan []byte, error) {
	keys := make(chan []byte, 1)
	if name.Name == "" {
		return keys, nil
	}
	send := func(o any) {
		secret, ok := o.(*corev1.Secret)
		if !ok || secret.Name != name.Name || secret.Namespace != name.Namespace || len(secret.Data[secretKey]) == 0 {
			return
		}
		select {
		case <-keys: // only the newest matters
		default:
		}
		keys <- secret.Data[secretKey]
	}
	err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		informer, err := mgr.GetCache().GetInformer(ctx, &corev1.Secret{})
		if err != nil {
			return fmt.Errorf("watch secret %s: %w", name, err)
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: send, UpdateFunc: func(_, o any) { send(o) },
		})
		if err != nil {
			return fmt.Errorf("watch secret %s: %w", name, err)
		}
		return nil
	}))
	if err != nil {
		return nil, fmt.Errorf("watch secret %s: %w", name, err)
	}
	return keys, nil
}
