package controller

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// MemberlistKey is the key in the Secret's data.
	MemberlistKey = "secretkey"
	keyBytes      = 32
	// Until the Secret is there, speakers wait for it, so try often.
	missingRetry = 2 * time.Second
	presentRetry = time.Minute
)

// secretCreator makes the Secret with which the speakers encrypt their gossip, if
// it is missing. It never changes an existing one.
type secretCreator struct {
	reader          client.Reader
	writer          client.Writer
	namespace, name string
	log             *slog.Logger
}

// Start implements manager.Runnable; it returns when ctx ends.
func (k *secretCreator) Start(ctx context.Context) error {
	for {
		wait := presentRetry
		if err := k.ensure(ctx); err != nil {
			wait = missingRetry
			k.log.Error("speakers' key", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (k *secretCreator) NeedLeaderElection() bool { return true }

func (k *secretCreator) ensure(ctx context.Context) error {
	var secret corev1.Secret
	err := k.reader.Get(ctx, types.NamespacedName{Namespace: k.namespace, Name: k.name}, &secret)
	if err == nil {
		return nil
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("get secret %s/%s: %w", k.namespace, k.name, err)
	}
	key := make([]byte, keyBytes)
	if _, err := rand.Read(key); err != nil {
		return fmt.Errorf("make a random key: %w", err)
	}
	secret = corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: k.namespace, Name: k.name},
		Type:       corev1.SecretTypeOpaque,
		StringData: map[string]string{MemberlistKey: base64.StdEncoding.EncodeToString(key)},
	}
	if err := k.writer.Create(ctx, &secret); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create secret %s/%s: %w", k.namespace, k.name, err)
	}
	return nil
}
