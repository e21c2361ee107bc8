package share

import "time"

// Kind is what a Message is for.
type Kind uint8

// The kinds of messages.
const (
	// Ask asks for consent; Reply answers it.
	Ask Kind = iota + 1
	Reply
	// Want asks for tokens; Give answers it, and Return gives some back.
	Want
	Give
	Return
	// End says that a session is over. It passes by the Node, which counts requests.
	End
)

// Message is what members send each other. Each kind uses some of the fields.
type Message struct {
	Kind Kind
	// Process is that of the one who asked: of an Ask and a Want, and the same in what
	// answers it. Number is the question's.
	Process, Number uint64
	// View is that of an Ask and its Reply.
	View uint64
	// Acting, of an Ask, says that the sender acts as owner; Complete, that it has heard
	// from all members lately.
	Acting, Complete bool
	// Leaving, of an Ask, says that the process ends, and that no other takes its place.
	Leaving bool
	// Ends, of an Ask, is when leases end that the sender gave in former views.
	Ends time.Duration
	// Consent, of a Reply, lasts for Term from the Ask. Line is the same as long as the
	// consent was not interrupted.
	Consent bool
	Line    uint64
	// Key is that of a Want and a Give, Limit that of a Want. The Name of an End is the session's, and
	// Ends is for how long it has to be known.
	Key   Key
	Limit Limit
	// Count is a number of tokens.
	Count int64
	// Wait, of a Give, is the time until there is a further token.
	Wait time.Duration
}
