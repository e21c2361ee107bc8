package model

// CookieChanges are made to the cookies that pods set.
type CookieChanges struct {
	// PathFrom and PathTo are the beginnings of paths, DomainFrom and DomainTo domains in
	// lower case without a dot before them; both are empty where nothing is replaced.
	PathFrom, PathTo     string
	DomainFrom, DomainTo string
	// Secure adds the attribute where it is missing.
	Secure bool
	// SameSite replaces the attribute, or adds it; empty leaves it alone.
	SameSite string
}

// LocationChange replaces the beginning of the header Location of answers of pods.
type LocationChange struct{ From, To string }

// ChangesAnswers reports whether answers of pods are not handed on as they are.
func (p *Policy) ChangesAnswers() bool {
	return len(p.ResponseHeaders) > 0 || p.Cookies != nil || p.Location != nil
}
