package htpasswd

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"
)

const longer = "The quick brown fox jumps over the lazy dog, and again and again and again and again"

// TestFormats: each format has hashes that other programs made (openssl passwd,
// crypt(3) of glibc and libxcrypt).
func TestFormats(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ hash, password string }{
		"MD5":                    {"$1$saltstri$YMyguxXMBpd2TEZ.vS/3q1", "Hello world!"},
		"MD5, one character":     {"$1$ab$e2KlfqG5YBMTjSz7XF.Eu1", "x"},
		"apr1":                   {"$apr1$saltstri$aGfuB7Lcvs2TUeFTqUVfN0", "Hello world!"},
		"apr1, short salt":       {"$apr1$ab$eIePjsejfBGR8ITtu2z0U1", "x"},
		"SHA-256":                {"$5$saltstri$AcFF27v62S0zwgTU0yv0eKFexEp411.69eNIGyiG0L5", "Hello world!"},
		"SHA-256, one character": {"$5$ab$5ydlOaPxAq0VpamGFK.BZgHF7HlR0erJsH.F7VB19f0", "x"},
		"SHA-256 with rounds": {
			"$5$rounds=1400$anotherlongsalts$Rx.j8H.h8HjEDGomFU8bDkXm3XIUnzyxf12oP84Bnq1",
			"a very much longer text to encrypt.  This one even stretches over morethan one line.",
		},
		"SHA-512":             {"$6$saltstri$TuQo8ue714Ctf4Zl7Ctg70/YwYXvMiZP8AgmExw/pTqWoUKmQ9LD2WQO4j78UOYkYf3xOZCXu6asrMlXdzzMM1", "Hello world!"},
		"SHA-512, short salt": {"$6$ab$jnZj29NS/hK2GaouP6AGMIBwD6owZFRejcn9QRdlwSjZaVr.fR9dH2TXrKL/PaacUXwtGfI.4O9zxvy2k6fbE1", "x"},
		"SHA-512 with rounds": {"$6$rounds=10000$saltstringsaltst$OW1/O6BYHV6BcXZu8QVeXbDWra3Oeqh0sbHbbMCVNSnCM/UrjmM0Dp8vOuZeHBy/YTBmSK6H9qs/y3RnOaw5v.", "Hello world!"},
		"SHA-512, long":       {"$6$zz$fULgGZV8Z3CAdlDsjOyyLuVPlldYVUyZLSgiVp1W0YIoe1IPDghxP/lXZY24tVFbhPQuY8IofQ4GAOd1i6FuN0", longer},
		"bcrypt":              {"$2y$05$abcdefghijklmnopqrstuu7nFISH/8YdwlXD3lw69A4iBUf6fvWAW", "Hello world!"},
		"SSHA":                {"{SSHA}M8XN+MyCuGNn0qVHAt++nhI4sBNzYWx0", "Hello world!"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, problems := Parse("ann:" + test.hash + "\n")
			if len(problems) > 0 {
				t.Fatalf("problems: %v", problems)
			}
			if !f.Verify("ann", test.password) {
				t.Error("the right password is refused")
			}
			for _, wrong := range []string{"", "x ", test.password + "x", test.password[1:], strings.ToUpper(test.password) + "\x00", strings.Repeat("x", 4096)} {
				if f.Verify("ann", wrong) {
					t.Errorf("the wrong password %q is accepted", wrong)
				}
			}
			if f.Verify("bob", test.password) || f.Verify("", test.password) {
				t.Error("a user who is not there is accepted")
			}
		})
	}
}

// TestRefused: a line that is weak, malformed or too expensive lets no user in, and
// what the problem says holds no password.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ line, reason string }{
		"DES":                     {"ann:rl0uE1RJ4mYQc", WeakHash},
		"plain text":              {"ann:secret", WeakHash},
		"marked plain text":       {"ann:{PLAIN}secret", Invalid},
		"no hash":                 {"ann:", WeakHash},
		"no colon":                {"secret", Invalid},
		"no user":                 {":$1$ab$e2KlfqG5YBMTjSz7XF.Eu1", Invalid},
		"control character":       {"an\x01n:$1$ab$e2KlfqG5YBMTjSz7XF.Eu1", Invalid},
		"no UTF-8":                {"an\xffn:$1$ab$e2KlfqG5YBMTjSz7XF.Eu1", Invalid},
		"long user":               {strings.Repeat("a", MaxUser+1) + ":$1$ab$e2KlfqG5YBMTjSz7XF.Eu1", Invalid},
		"bcrypt of cost 15":       {"ann:$2y$15$abcdefghijklmnopqrstuu7nFISH/8YdwlXD3lw69A4iBUf6fvWAW", Invalid},
		"bcrypt, short":           {"ann:$2y$05$abcdefghijklmnopqrstuu7nFISH", Invalid},
		"bcrypt of version 2x":    {"ann:$2x$05$abcdefghijklmnopqrstuu7nFISH/8YdwlXD3lw69A4iBUf6fvWAW", Invalid},
		"too many rounds":         {"ann:$6$rounds=200001$ab$" + strings.Repeat(".", 86), Invalid},
		"few rounds":              {"ann:$6$rounds=999$ab$" + strings.Repeat(".", 86), Invalid},
		"rounds without a number": {"ann:$6$rounds=$ab$" + strings.Repeat(".", 86), Invalid},
		"long salt":               {"ann:$6$12345678901234567$" + strings.Repeat(".", 86), Invalid},
		"short sum":               {"ann:$5$ab$" + strings.Repeat(".", 42), Invalid},
		"foreign character":       {"ann:$5$ab$" + strings.Repeat("=", 43), Invalid},
		"yescrypt":                {"ann:$y$j9T$ab$" + strings.Repeat(".", 43), Invalid},
		"SHA of 19 bytes":         {"ann:{SHA}AAAAAAAAAAAAAAAAAAAAAAAAAA==", Invalid},
		"SSHA without salt":       {"ann:{SSHA}0DPiKuNIrrVmD8IUCuw1hQxNqZc=", Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, problems := Parse("# users\n\n" + test.line)
			if len(problems) != 1 || problems[0].Reason != test.reason || problems[0].Warning || problems[0].Line != 3 {
				t.Fatalf("problems: %+v, want one of line 3 with %s", problems, test.reason)
			}
			if f.Len() != 0 || f.Verify("ann", "secret") {
				t.Error("the user can log in")
			}
			if strings.Contains(fmt.Sprint(problems), "secret") {
				t.Errorf("the problem repeats the password: %v", problems)
			}
		})
	}
}

// TestWarnings: what is used with a warning, and what a second line does.
func TestWarnings(t *testing.T) {
	t.Parallel()
	f, problems := Parse("ann:{SHA}00hq6RNueFa8QiEjhep5cJRHWAI=\nann:$1$ab$e2KlfqG5YBMTjSz7XF.Eu1\n")
	if len(problems) != 2 || !problems[0].Warning || problems[0].Reason != WeakHash || !problems[1].Warning {
		t.Fatalf("problems: %+v", problems)
	}
	if !f.Verify("ann", "Hello world!") || f.Verify("ann", "x") {
		t.Error("the first line does not count")
	}
}

// TestMap: keys of a Secret are users.
func TestMap(t *testing.T) {
	t.Parallel()
	f, problems := ParseMap(map[string]string{"ann": "$1$ab$e2KlfqG5YBMTjSz7XF.Eu1\n", "bob": "plain", "a:b": "$1$ab$e2KlfqG5YBMTjSz7XF.Eu1"})
	if f.Len() != 1 || !f.Verify("ann", "x") || len(problems) != 2 {
		t.Errorf("%d users, problems %+v", f.Len(), problems)
	}
}

// TestMany: users above the limit cannot log in, and one problem says so.
func TestMany(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range MaxUsers + 5 {
		fmt.Fprintf(&b, "u%d:$1$ab$e2KlfqG5YBMTjSz7XF.Eu1\n", i)
	}
	f, problems := Parse(b.String())
	if f.Len() != MaxUsers || len(problems) != 1 || problems[0].Reason != TooMany {
		t.Errorf("%d users, problems %+v", f.Len(), problems)
	}
}

// TestDummy: an unknown user costs a bcrypt of the highest cost in the file.
func TestDummy(t *testing.T) {
	t.Parallel()
	f, _ := Parse("ann:$2y$06$abcdefghijklmnopqrstuu7nFISH/8YdwlXD3lw69A4iBUf6fvWAW\nbob:$1$ab$e2KlfqG5YBMTjSz7XF.Eu1\n")
	if f.cost != 6 {
		t.Errorf("cost %d", f.cost)
	}
	if err := bcrypt.CompareHashAndPassword([]byte(dummy(f.cost).text), []byte("x")); !errors.Is(err, bcrypt.ErrMismatchedHashAndPassword) {
		t.Errorf("the dummy is no hash: %v", err)
	}
}

// FuzzParse: no text makes a hash that costs more than the bounds, lets an empty
// file of users in, or panics.
func FuzzParse(f *testing.F) {
	f.Add("ann:$1$ab$e2KlfqG5YBMTjSz7XF.Eu1\nbob:{SHA}00hq6RNueFa8QiEjhep5cJRHWAI=\n", "x")
	f.Add("ann:$6$rounds=1000$ab$jnZj29NS/hK2GaouP6AGMIBwD6owZFRejcn9QRdlwSjZaVr.fR9dH2TXrKL/PaacUXwtGfI.4O9zxvy2k6fbE1", "")
	f.Add("ann:$2y$05$abcdefghijklmnopqrstuu7nFISH/8YdwlXD3lw69A4iBUf6fvWAW", "\x00")
	for _, s := range []string{"\n", "\t", "\r", "\x00", "\f"} {
		f.Add("an"+s+"n:$apr1$ab"+s+"$eIePjsejfBGR8ITtu2z0U1"+s, s)
	}
	f.Fuzz(func(t *testing.T, text, password string) {
		file, problems := Parse(text)
		for _, p := range problems {
			if p.Reason == "" || p.Message == "" || strings.ContainsAny(p.User, "\n\r\x00") {
				t.Fatalf("problem %+v", p)
			}
		}
		for user, h := range file.users {
			if !validUser(user) || h.rounds > MaxRounds || h.bcryptCost() > MaxCost {
				t.Fatalf("user %q with %+v", user, h)
			}
			if h.bcryptCost() <= 5 && h.rounds <= 5000 {
				file.Verify(user, password)
			}
		}
		if file.Len() == 0 && file.Verify("", password) {
			t.Fatal("an empty file lets in")
		}
	})
}
