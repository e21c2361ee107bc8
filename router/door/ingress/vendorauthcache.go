package ingress

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
)

// readCache reads by what and for how long answers are kept. Ours depend on
// credentials alone, so what else is in the key keeps answers from being kept.
func readCache(key, times string) (*v1alpha1.AuthCache, error) {
	cache := &v1alpha1.AuthCache{}
	for _, m := range cacheVariable.FindAllStringSubmatch(key, -1) {
		cookie, isCookie := strings.CutPrefix(m[1], "cookie_")
		name := ""
		switch {
		case m[1] == "http_authorization" || m[1] == "remote_user":
			name = "Authorization"
		case isCookie && cookie != "":
			name = "Cookie:" + cookie
		case m[1] == "http_x_api_key":
			name = "X-Api-Key"
		default:
			return nil, fmt.Errorf("answers cannot be kept by $%s: only by $http_authorization, $cookie_NAME and $http_x_api_key", m[1])
		}
		if !slices.Contains(cache.Key, name) {
			cache.Key = append(cache.Key, name)
		}
	}
	if len(cache.Key) == 0 {
		return nil, errors.New("answers are not kept without a credential in the key, such as $http_authorization")
	}
	if times == "" {
		times = "200 202 401 5m"
	}
	return cache, readCacheTimes(times, cache)
}

const (
	maxCache, maxNegative = time.Hour, 10 * time.Second
	maxCacheItems         = 50
)

// readCacheTimes reads "200 202 5m, 401 1m". Of several times for one class of
// answers the shortest one counts.
func readCacheTimes(times string, cache *v1alpha1.AuthCache) error {
	items := strings.Split(times, ",")
	if len(items) > maxCacheItems {
		return errors.New("there are too many times of answers")
	}
	ttl, negative := time.Duration(0), time.Duration(0)
	for _, item := range items {
		f := strings.Fields(item)
		if len(f) < 2 {
			return fmt.Errorf("%q is not a list of statuses and a time", strings.TrimSpace(item))
		}
		d, err := api.ParseTime(f[len(f)-1])
		if err != nil || d < time.Second || strings.TrimLeft(f[len(f)-1], "0123456789") == "" {
			return fmt.Errorf("%q is not a time such as 30s or 5m", f[len(f)-1])
		}
		for _, status := range f[:len(f)-1] {
			switch {
			case len(status) != 3 || strings.Trim(status, "0123456789") != "":
				return fmt.Errorf("%q is not a status", status)
			case status[0] == '2' && (ttl == 0 || d < ttl):
				ttl = d
			case (status == "401" || status == "403") && (negative == 0 || d < negative):
				negative = d
			}
		}
	}
	cache.TTL, cache.Negative = inSeconds(min(ttl, maxCache)), inSeconds(min(negative, maxNegative))
	return nil
}

func inSeconds(d time.Duration) v1alpha1.Duration {
	if d < time.Second {
		return ""
	}
	return v1alpha1.Duration(strconv.Itoa(int(d/time.Second)) + "s")
}
