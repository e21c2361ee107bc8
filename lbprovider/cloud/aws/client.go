package aws

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	"golang.org/x/time/rate"
)

// Access says how AWS is reached.
type Access struct {
	// Region is that of the cluster; empty means what the environment says,
	// then what Cluster says, then the metadata service of the machine.
	Region string
	// Cluster returns what the cluster says of its region and endpoints; may be nil.
	Cluster func(context.Context) (Cluster, error)
	// Endpoint replaces AWS's own addresses, for tests.
	Endpoint string
	// Credentials is a folder that a Secret with credentials is mounted as;
	// empty, or an empty folder, means the SDK's default chain.
	Credentials string
	// RoleARN is a role to assume, with ExternalID if it asks for one.
	RoleARN, ExternalID string
	// MaxAttempts is how often a call is tried; 0 means 5.
	MaxAttempts int
	// MaxBackoff is the longest pause between attempts; 0 means 20 s.
	MaxBackoff time.Duration
	// Speed multiplies our own limits of calls, for accounts with higher ones;
	// 0 means 1.
	Speed float64
	// Observe, if set, is called for every attempt: its code is empty if it succeeded.
	Observe func(service, action, code string, took time.Duration)
	// Now returns the time.
	Now func() time.Time
}

// Config loads the SDK's configuration: credentials by its default chain, our
// own limits of calls, and its standard way to try again. Other hooks of this
// cloud, such as Route 53, share it.
func Config(ctx context.Context, a Access) (sdk.Config, error) {
	if a.MaxAttempts == 0 {
		a.MaxAttempts = 5
	}
	if a.MaxBackoff == 0 {
		a.MaxBackoff = 20 * time.Second
	}
	if a.Now == nil {
		a.Now = time.Now
	}
	options := []func(*config.LoadOptions) error{
		config.WithRetryer(func() sdk.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) {
				o.MaxAttempts, o.MaxBackoff, o.RateLimiter = a.MaxAttempts, a.MaxBackoff, ratelimit.None
			})
		}),
		// Not a plain http.Client: the SDK gives this one the CAs of AWS_CA_BUNDLE.
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTimeout(callTimeout)),
	}
	if a.Region != "" {
		options = append(options, config.WithRegion(a.Region))
	}
	if a.Endpoint != "" {
		options = append(options, config.WithBaseEndpoint(a.Endpoint))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return cfg, fmt.Errorf("load the configuration of the AWS SDK: %w", err)
	}
	if err := locate(ctx, &cfg, a); err != nil {
		return cfg, err
	}
	if err := webIdentity(&cfg); err != nil {
		return cfg, err
	}
	limits := newLimits(a.Now, a.Speed)
	cfg.APIOptions = append(cfg.APIOptions, limits.install(a))
	if a.Credentials != "" {
		cfg.Credentials = sdk.NewCredentialsCache(folder{dir: a.Credentials, cfg: cfg.Copy(), now: a.Now})
	}
	if a.RoleARN != "" {
		provider := stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), a.RoleARN, func(o *stscreds.AssumeRoleOptions) {
			o.RoleSessionName = "fairlead"
			if a.ExternalID != "" {
				o.ExternalID = &a.ExternalID
			}
		})
		cfg.Credentials = sdk.NewCredentialsCache(provider)
	}
	return cfg, nil
}

// callTimeout is for one attempt. A clock that is wrong shows as refused
// signatures, which the SDK corrects; slow answers would disturb that.
const callTimeout = 30 * time.Second

// clients are the services that a load balancer needs.
type clients struct {
	elb *elb.Client
	ec2 *ec2.Client
	acm *acm.Client
	waf *wafv2.Client
	sts *sts.Client
	cfg sdk.Config // for the metadata service
}

func newClients(cfg sdk.Config) clients {
	return clients{
		elb: elb.NewFromConfig(cfg), ec2: ec2.NewFromConfig(cfg), acm: acm.NewFromConfig(cfg), waf: wafv2.NewFromConfig(cfg), sts: sts.NewFromConfig(cfg), cfg: cfg,
	}
}

// limits are our own buckets, below AWS's, so that we leave room for others in
// the account.
type limits struct {
	now     func() time.Time
	buckets map[string]*bucket
}

// bucket slows down to half for a minute after a throttle.
type bucket struct {
	*rate.Limiter
	full  rate.Limit
	until chan time.Time // holds one value: when the slow time ends
}

func newLimits(now func() time.Time, speed float64) *limits {
	if speed == 0 {
		speed = 1
	}
	l := &limits{now: now, buckets: map[string]*bucket{}}
	for name, b := range map[string]struct {
		rate  rate.Limit
		burst int
	}{
		"elb read": {10, 40}, "elb targets": {4, 20}, "elb write": {3, 20}, "ec2 read": {10, 50}, "ec2 write": {2, 10},
		"route53": {4, 8}, "other": {5, 10},
	} {
		held := make(chan time.Time, 1)
		held <- time.Time{}
		full := b.rate * rate.Limit(speed)
		l.buckets[name] = &bucket{rate.NewLimiter(full, b.burst), full, held}
	}
	return l
}

func (l *limits) of(service, action string) *bucket {
	reading := strings.HasPrefix(action, "Describe") || strings.HasPrefix(action, "Get") || strings.HasPrefix(action, "List")
	switch {
	case service == "Elastic Load Balancing v2" && reading:
		return l.buckets["elb read"]
	case service == "Elastic Load Balancing v2" && strings.HasSuffix(action, "egisterTargets"):
		return l.buckets["elb targets"]
	case service == "Elastic Load Balancing v2":
		return l.buckets["elb write"]
	case service == "EC2" && reading:
		return l.buckets["ec2 read"]
	case service == "EC2":
		return l.buckets["ec2 write"]
	case service == "Route 53":
		return l.buckets["route53"]
	}
	return l.buckets["other"]
}

// slow halves the bucket's rate for a minute.
const slowTime = time.Minute

func (b *bucket) slow(now time.Time) {
	<-b.until
	b.SetLimit(b.full / 2)
	b.until <- now.Add(slowTime)
}

func (b *bucket) take(ctx context.Context, now time.Time) error {
	until := <-b.until
	if !until.IsZero() && now.After(until) {
		b.SetLimit(b.full)
		until = time.Time{}
	}
	b.until <- until
	return b.Wait(ctx)
}

// install puts the buckets and the observer around every attempt of a call.
func (l *limits) install(a Access) func(*middleware.Stack) error {
	return func(s *middleware.Stack) error {
		around := middleware.FinalizeMiddlewareFunc("FairleadLimits",
			func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
				service, action := awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx)
				b := l.of(service, action)
				if err := b.take(ctx, l.now()); err != nil {
					return middleware.FinalizeOutput{}, middleware.Metadata{}, fmt.Errorf("wait for our own limit of calls: %w", err)
				}
				start := l.now()
				out, md, err := next.HandleFinalize(ctx, in)
				code := codeOf(err)
				if throttleCodes()[code] {
					b.slow(l.now())
				}
				if a.Observe != nil {
					a.Observe(service, action, code, l.now().Sub(start))
				}
				return out, md, err
			})
		return s.Finalize.Insert(around, "Retry", middleware.After)
	}
}

// codeOf returns the code of an attempt's error: AWS's, or a word for why there
// was no answer.
func codeOf(err error) string {
	var api smithy.APIError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &api):
		return api.ErrorCode()
	case errors.Is(err, context.DeadlineExceeded):
		return "Timeout"
	}
	return "Connection"
}
