// Package access asks the API server who may read a router's metrics,
// profiles and requests: clients that have a token with the right to the router's subresource, as
// with OpenShift's router.
//
//	bearer token ─ TokenReview ─▶ user ─ SubjectAccessReview ─▶ verdict
//
// The right is "get" on routers/metrics, routers/debug or routers/log of the group
// route.openshift.io; there is no such object, only the right.
package access

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/fairlead/fairlead/api"
)

const (
	// allowedFor and refusedFor are how long a verdict holds. A right that is
	// taken away works on for as long as the first.
	allowedFor = 10 * time.Second
	refusedFor = 5 * time.Second
	// maxVerdicts bounds the memory that strangers with made-up tokens can take.
	maxVerdicts = 1000
	// rate and burst bound the questions per second to the API server.
	rate, burst = 10, 20
	timeout     = 5 * time.Second
)

// Reviewer asks the API server and remembers its verdicts for some seconds.
type Reviewer struct {
	client *rest.RESTClient
	router string

	mu   sync.Mutex
	seen map[question]verdict
}

// question is a request as far as it matters; the token as a hash, so that
// memory does not hold it.
type question struct {
	token             [sha256.Size]byte
	verb, subresource string
}

type verdict struct {
	known, allowed bool
	until          time.Time
}

// New returns a Reviewer for the router of that name, or without a name for paths
// in place of subresources: the right is then "get" on the path, such as /metrics,
// as Kubernetes' own programs ask for it.
func New(config *rest.Config, router string) (*Reviewer, error) {
	c := rest.CopyConfig(config)
	c.QPS, c.Burst, c.RateLimiter = rate, burst, nil
	c.GroupVersion = &schema.GroupVersion{}
	c.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("make API client for access reviews: %w", err)
	}
	return &Reviewer{client: client, router: router, seen: map[question]verdict{}}, nil
}

// Review reports whether the API server knows the token, and whether its user
// may do verb with a subresource of the router.
func (r *Reviewer) Review(ctx context.Context, token, verb, subresource string) (known, allowed bool, err error) {
	if token == "" {
		return false, false, nil
	}
	q := question{sha256.Sum256([]byte(token)), verb, subresource}
	now := time.Now()
	r.mu.Lock()
	v, ok := r.seen[q]
	r.mu.Unlock()
	if ok && now.Before(v.until) {
		return v.known, v.allowed, nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if v, err = r.ask(ctx, token, verb, subresource); err != nil {
		return false, false, err
	}
	v.until = now.Add(refusedFor)
	if v.allowed {
		v.until = now.Add(allowedFor)
	}
	r.remember(q, v, now)
	return v.known, v.allowed, nil
}

// remember forgets what is old before there is too much.
func (r *Reviewer) remember(q question, v verdict, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.seen) >= maxVerdicts {
		for old, v := range r.seen {
			if now.After(v.until) {
				delete(r.seen, old)
			}
		}
	}
	if len(r.seen) < maxVerdicts {
		r.seen[q] = v
	}
}

func (r *Reviewer) ask(ctx context.Context, token, verb, subresource string) (verdict, error) {
	user, err := r.user(ctx, token)
	if user == nil {
		return verdict{}, err
	}
	may := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: map[string]authorizationv1.ExtraValue{},
	}}
	if r.router == "" {
		may.Spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: subresource, Verb: verb}
	} else {
		may.Spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
			Verb: verb, Group: "route.openshift.io", Resource: "routers", Name: r.router, Subresource: subresource,
		}
	}
	for k, v := range user.Extra {
		may.Spec.Extra[k] = authorizationv1.ExtraValue(v)
	}
	may.APIVersion, may.Kind = "authorization.k8s.io/v1", "SubjectAccessReview"
	if err := r.post(ctx, "/apis/authorization.k8s.io/v1/subjectaccessreviews", may); err != nil {
		return verdict{}, fmt.Errorf("review the access of %s: %w", user.Username, err)
	}
	return verdict{known: true, allowed: may.Status.Allowed && !may.Status.Denied}, nil
}

// user returns whose token it is, or nil. Tokens that are made for the API server count,
// as Prometheus has them, and those that are made for routers.
func (r *Reviewer) user(ctx context.Context, token string) (*authenticationv1.UserInfo, error) {
	audiences := [][]string{nil, {api.RouterAudience}}
	if r.router == "" {
		audiences = audiences[:1]
	}
	for _, of := range audiences {
		who := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: of}}
		who.APIVersion, who.Kind = "authentication.k8s.io/v1", "TokenReview"
		if err := r.post(ctx, "/apis/authentication.k8s.io/v1/tokenreviews", who); err != nil {
			return nil, fmt.Errorf("review a token: %w", err)
		}
		// An API server that knows nothing of audiences answers without them.
		if who.Status.Authenticated && (of == nil || slices.Equal(who.Status.Audiences, of)) {
			return &who.Status.User, nil
		}
	}
	return nil, nil
}

// post sends a review and reads its answer into it.
func (r *Reviewer) post(ctx context.Context, path string, review any) error {
	body, err := json.Marshal(review)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	answer, err := r.client.Post().AbsPath(path).SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Raw()
	if err != nil {
		// What the API server says may hold what it was sent.
		return errors.New("the API server does not answer as it should; may this program create tokenreviews and subjectaccessreviews?")
	}
	return json.Unmarshal(answer, review)
}
