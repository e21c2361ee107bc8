package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/fairlead/fairlead/console"
)

const (
	// reviewTime bounds a question, questions how many there are in a second.
	reviewTime            = 10 * time.Second
	questions, manyAtOnce = 1000, 1000
)

// Rights asks the API server of a cluster.
type Rights struct {
	tokens authenticationclient.TokenReviewInterface
	access authorizationclient.SubjectAccessReviewInterface
}

var _ console.Rights = (*Rights)(nil)

// NewRights returns the rights of a cluster's users.
func NewRights(config *rest.Config) (*Rights, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst, config.Timeout = questions, manyAtOnce, reviewTime
	tokens, err := authenticationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	access, err := authorizationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	return &Rights{tokens: tokens.TokenReviews(), access: access.SubjectAccessReviews()}, nil
}

// Review implements console.Rights. An API server that does not know audiences names none, and
// then the token may be for any program: it is refused.
func (r *Rights) Review(ctx context.Context, token string) (console.Identity, error) {
	got, err := r.tokens.Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{console.Audience}}}, metav1.CreateOptions{})
	if err != nil {
		return console.Identity{}, fmt.Errorf("review a token: %w", err)
	}
	u := got.Status.User
	if !got.Status.Authenticated || u.Username == "" || !slices.Contains(got.Status.Audiences, console.Audience) {
		return console.Identity{}, console.ErrRefused
	}
	user := console.Identity{Name: u.Username, UID: u.UID, Groups: u.Groups, Extra: map[string][]string{}}
	for key, values := range u.Extra {
		user.Extra[key] = values
	}
	return user, nil
}

// MaySee implements console.Rights.
func (r *Rights) MaySee(ctx context.Context, user console.Identity, namespace string) (bool, error) {
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range user.Extra {
		extra[key] = values
	}
	got, err := r.access.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Name, UID: user.UID, Groups: user.Groups, Extra: extra,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "list", Group: routev1.GroupName, Resource: "routes"},
	}}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask about the rights of %s: %w", user.Name, err)
	}
	return got.Status.Allowed && !got.Status.Denied, nil
}
