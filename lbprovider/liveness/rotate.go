package liveness

import (
	"bytes"
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
	"time"
)

const (
	// spreadTime is how long every speaker has to learn of a new secret before
	// the first one uses it.
	spreadTime = 15 * time.Second
	// retireTime is how long the old one is understood after that.
	retireTime = 30 * time.Second
)

func keyOf(secret []byte) ([]byte, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, "fairlead memberlist v1", 32)
	if err != nil {
		return nil, fmt.Errorf("derive the gossip key: %w", err)
	}
	return key, nil
}

// Rotate changes to the newest of the secrets without losing sight of any speaker:
// messages under it are understood at once, sent after spreadTime, and
// messages under the old one are refused after another retireTime. It returns
// when ctx ends or the channel is closed.
func (g *Gossip) Rotate(ctx context.Context, secrets <-chan []byte) {
	current := g.opts.Secret
	for {
		select {
		case <-ctx.Done():
			return
		case next, open := <-secrets:
			if !open {
				return
			}
			if len(next) == 0 || g.keys == nil || bytes.Equal(next, current) {
				continue
			}
			if err := g.rotate(ctx, next); err != nil {
				g.opts.Log.Error("the new secret of the speakers is not used", "err", err)
				continue
			}
			current = next
		}
	}
}

func (g *Gossip) rotate(ctx context.Context, secret []byte) error {
	key, err := keyOf(secret)
	if err != nil {
		return err
	}
	old := g.keys.GetPrimaryKey()
	if err := g.keys.AddKey(key); err != nil {
		return fmt.Errorf("understand the new key: %w", err)
	}
	g.opts.Log.Info("the secret of the speakers has changed", "used in", spreadTime.String())
	if !pass(ctx, spreadTime) {
		return nil
	}
	if err := g.keys.UseKey(key); err != nil {
		return fmt.Errorf("use the new key: %w", err)
	}
	if !pass(ctx, retireTime) {
		return nil
	}
	if err := g.keys.RemoveKey(old); err != nil {
		return fmt.Errorf("retire the old key: %w", err)
	}
	g.opts.Log.Info("the old secret of the speakers is retired")
	return nil
}

// pass waits, and says whether ctx goes on.
func pass(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
