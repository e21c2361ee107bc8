package authentication

import (
	"cmp"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/agent/htpasswd"
	"github.com/fairlead/fairlead/router/agent/snapshot"
)

// fileKeys are the keys of a Secret under which a file of users may stand; auth is that
// of ingress-nginx.
func fileKeys() []string { return []string{"auth", "users", ".htpasswd"} }

// maxFile bounds a file of users, in bytes: it is read again whenever the route is.
const maxFile = 512 << 10

func (c *compiler) basic(b *v1alpha1.BasicAuthentication) {
	out := &snapshot.Basic{Realm: b.Realm, ForwardUser: string(b.ForwardUser), KeepCredentials: b.StripCredentials != nil && !*b.StripCredentials}
	if b.Realm != "" && !realmText().MatchString(b.Realm) {
		c.close("basic.realm", "must be 1 to 256 visible ASCII characters and spaces")
	}
	if b.ForwardUser != "" {
		c.forPod("basic.forwardUser", b.ForwardUser)
	}
	if m := b.MaxFailures; m != nil {
		if m.Count < 1 || m.Count > 1_000_000 {
			c.close("basic.maxFailures.count", "must be from 1 to 1000000")
		}
		out.MaxFailures, out.FailurePer = int(m.Count), cmp.Or(c.duration("basic.maxFailures.per", m.Per, time.Second, time.Hour), time.Minute)
	}
	if data, ok := c.secret("basic.secret", b.Secret); ok && data != nil {
		c.users(out, string(b.Secret), data)
	}
	c.out.Basic = out
	c.methods = append(c.methods, "basic: users of Secret "+c.in.Namespace+"/"+string(b.Secret))
}

// users puts the users of a Secret into the policy. No message repeats what the Secret
// holds but names of users.
func (c *compiler) users(out *snapshot.Basic, name string, data map[string][]byte) {
	const field = "basic.secret"
	var file *htpasswd.File
	var problems []htpasswd.Problem
	size := 0
	for _, key := range fileKeys() {
		if text, ok := data[key]; ok && file == nil {
			if size = len(text); size > maxFile {
				break
			}
			out.Htpasswd = string(text)
			file, problems = htpasswd.Parse(out.Htpasswd)
		}
	}
	if file == nil && size == 0 {
		out.Users = make(map[string]string, len(data))
		for user, hash := range data {
			size += len(user) + len(hash)
			out.Users[user] = string(hash)
		}
		if size <= maxFile {
			file, problems = htpasswd.ParseMap(out.Users)
		}
	}
	switch {
	case size > maxFile:
		c.unresolved(api.ReasonSecretInvalid, field, "Secret %q has %d bytes of users; at most %d are possible", name, size, maxFile)
		return
	case file.Len() == 0:
		c.unresolved(api.ReasonSecretInvalid, field, "Secret %q has no usable user%s", name, why(problems))
		return
	}
	if len(problems) > 0 {
		c.warn(field, "Secret %q: %d lines need attention%s", name, len(problems), why(problems))
	}
}

// why explains the first of some problems.
func why(problems []htpasswd.Problem) string {
	if len(problems) == 0 {
		return ""
	}
	p := problems[0]
	text := ": "
	if p.User != "" {
		text += "user " + p.User + ": "
	}
	return text + p.Message
}
