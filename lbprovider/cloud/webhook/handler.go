package webhook

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// Handler serves the protocol with hooks written in Go. One of Balancers and
// Names may be nil.
type Handler struct {
	Balancers hook.LoadBalancerHook
	Names     hook.DNSHook
	// Token, if set, returns the bearer token that callers must show.
	Token func() (string, error)
}

// ServeHTTP answers one call.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "use POST", http.StatusMethodNotAllowed)
		return
	case !h.allowed(r):
		w.Header().Set("WWW-Authenticate", "Bearer")
		refuse(w, nil, hook.Errorf(hook.ClassDenied, "the bearer token is missing or wrong"))
		return
	}
	var in Request
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		err = json.Unmarshal(body, &in)
	}
	switch {
	case err != nil:
		refuse(w, nil, hook.Errorf(hook.ClassInvalidConfig, "the request cannot be read: %v", err))
		return
	case in.APIVersion != hook.Version:
		refuse(w, nil, hook.Errorf(hook.ClassUnsupported, "apiVersion is %q, and we speak %s", in.APIVersion, hook.Version))
		return
	}
	out, err := h.call(r.Context(), r.URL.Path, in)
	if err != nil {
		result, _ := out.(*hook.Result)
		refuse(w, result, err)
		return
	}
	status, after := http.StatusOK, hook.Duration(0)
	switch out := out.(type) {
	case *hook.Result:
		if out.State == hook.StatePending {
			status, after = http.StatusAccepted, out.RetryAfter
		}
	case *hook.DeleteResult:
		if !out.Done {
			status, after = http.StatusAccepted, out.RetryAfter
		}
	case *hook.RecordResult:
		if out.Pending {
			status, after = http.StatusAccepted, out.RetryAfter
		}
	}
	if after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Std().Seconds()))))
	}
	write(w, status, out)
}

func (h *Handler) allowed(r *http.Request) bool {
	if h.Token == nil {
		return true
	}
	want, err := h.Token()
	have, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return err == nil && isBearer && subtle.ConstantTimeCompare([]byte(strings.TrimSpace(want)), []byte(have)) == 1
}

// call calls a method of the hook. A missing parameter is an error.
func (h *Handler) call(ctx context.Context, path string, in Request) (any, error) {
	missing := func(field string) error {
		return &hook.Error{Class: hook.ClassInvalidConfig, Field: field, Message: "is required"}
	}
	if h.Balancers == nil && !strings.HasPrefix(path, "/v1/dns/") {
		if path == PathCapabilities {
			return hook.Capabilities{Versions: []string{hook.Version}, DNS: h.Names != nil}, nil
		}
		return nil, hook.Errorf(hook.ClassUnsupported, "this hook has no load balancers")
	}
	switch path {
	case PathCapabilities:
		c, err := h.Balancers.Capabilities(ctx)
		c.DNS = h.Names != nil
		return c, err
	case PathOwned:
		refs, err := h.Balancers.ListOwned(ctx)
		return Owned{Refs: refs}, err
	case PathValidate, PathEnsure, PathTargets:
		if in.Spec == nil {
			return nil, missing("spec")
		}
		return h.spec(ctx, path, in.Spec)
	case PathDescribe, PathDelete:
		if in.Ref == nil {
			return nil, missing("ref")
		}
		if path == PathDescribe {
			return h.Balancers.Describe(ctx, *in.Ref)
		}
		return h.Balancers.Delete(ctx, &hook.Deletion{Ref: *in.Ref, Annotations: in.Annotations, Orphan: in.Orphan})
	case PathZone, PathEnsureRecord, PathDeleteRecord:
		return h.name(ctx, path, in)
	}
	return nil, hook.Errorf(hook.ClassUnsupported, "there is no %s", path)
}

func (h *Handler) spec(ctx context.Context, path string, spec *hook.Spec) (any, error) {
	switch path {
	case PathValidate:
		problems := h.Balancers.Validate(ctx, spec)
		if problems == nil {
			problems = []hook.FieldProblem{}
		}
		return Problems{problems}, nil
	case PathEnsure:
		return h.Balancers.Ensure(ctx, spec)
	}
	return h.Balancers.UpdateTargets(ctx, spec)
}

func (h *Handler) name(ctx context.Context, path string, in Request) (any, error) {
	switch {
	case h.Names == nil:
		return nil, hook.Errorf(hook.ClassUnsupported, "this hook does not publish names")
	case path == PathZone && in.Selector != nil:
		return h.Names.ResolveZone(ctx, *in.Selector)
	case path == PathZone || in.Record == nil || in.Zone == nil:
		return nil, hook.Errorf(hook.ClassInvalidConfig, "selector, or record and zone, are required")
	case path == PathEnsureRecord:
		return h.Names.EnsureRecord(ctx, in.Record, *in.Zone)
	}
	return struct{}{}, h.Names.DeleteRecord(ctx, in.Record, *in.Zone)
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the caller may be gone
}

func refuse(w http.ResponseWriter, result *hook.Result, err error) {
	e := hook.AsError(err)
	status, ok := statuses()[e.Class]
	if !ok {
		status = http.StatusInternalServerError
	}
	seconds := int(math.Ceil(e.RetryAfter.Seconds()))
	if seconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	// The whole text: an error may be several, joined.
	write(w, status, Failure{Result: result, Error: FailureError{
		Class: e.Class, Code: e.Code, Action: e.Action, Message: err.Error(), Field: e.Field, RetryAfterSeconds: seconds,
	}})
}
