package agent

import "slices"

// both joins two answers that admit.
func both(a, b Answer) Answer {
	a.Set = append(slices.Clone(a.Set), b.Set...)
	a.Del = append(slices.Clone(a.Del), b.Del...)
	a.Client = append(slices.Clone(a.Client), b.Client...)
	a.Success = append(slices.Clone(a.Success), b.Success...)
	a.TTL = min(a.TTL, b.TTL)
	if a.Consumer == "" {
		a.Consumer = b.Consumer
	}
	if b.from == fromAgent {
		a.from = fromAgent
	}
	a.group = b.group
	return a
}

// worse joins two refusals: a method that could not decide makes it 503, and a client
// that may still show credentials gets all challenges.
func worse(a, b Answer) Answer {
	switch {
	case a.Status == unavailable:
		return a
	case b.Status == unavailable, b.group == groupOIDC && b.Status != unauthorized:
		return b // a login leads to what is enough
	case a.Status == unauthorized && b.Status == unauthorized:
		a.Client = append(slices.Clone(a.Client), b.Client...)
		return a
	case b.Status == unauthorized:
		return b
	}
	return a
}
