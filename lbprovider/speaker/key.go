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
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// secretKey is the key in the data of the speakers' Secret.
	secretKey   = "secretkey"
	secretRetry = time.Second
)

// ReadKey waits for the Secret with the key of the gossip and returns the key.
// A speaker without it could not talk to the others, and would take their
// addresses. An empty name means that the gossip is not encrypted. It returns an
// error only when ctx ends.
func ReadKey(ctx context.Context, reader client.Reader, name types.NamespacedName, log *slog.Logger) ([]byte, error) {
	if name.Name == "" {
		return nil, nil
	}
	for told := ""; ; {
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
		if told != err.Error() {
			told = err.Error()
			log.Info("waiting for the secret of the speakers", "secret", name.String(), "reason", told)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for secret %s: %w", name, ctx.Err())
		case <-time.After(secretRetry):
		}
	}
}
