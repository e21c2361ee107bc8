package controller

import (
	"errors"
	"regexp"
	"strings"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// longestRefusal is how much of the API server's words an event has room for.
const longestRefusal = 300

// briefly says why the API server refused an object, without what the reader
// knows: the kind, its generated name, and whole values in quotes.
func briefly(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return shortened(err.Error())
	}
	details := status.Status().Details
	if details == nil || len(details.Causes) == 0 {
		text := err.Error()
		if _, after, ok := strings.Cut(text, " is forbidden: "); ok {
			text = after
		} else if _, after, ok := strings.Cut(text, "denied request: "); ok {
			text = after
		}
		return shortened(text)
	}
	var causes []string
	for _, c := range details.Causes {
		text := shortened(c.Message)
		if c.Field != "" && c.Field != "<nil>" {
			text = c.Field + ": " + text
		}
		causes = append(causes, text)
	}
	return shortened(strings.Join(causes, "; "))
}

// shortened is one printable line of bounded length, in which long quoted values
// leave room for what is wrong with them.
func shortened(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
	text = longQuoted().ReplaceAllString(strings.Join(strings.Fields(text), " "), `"$1…"`)
	if runes := []rune(text); len(runes) > longestRefusal {
		return string(runes[:longestRefusal]) + " …"
	}
	return text
}

func longQuoted() *regexp.Regexp { return regexp.MustCompile(`"([^"]{40})[^"]{20,}"`) }
