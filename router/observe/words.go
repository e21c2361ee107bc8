package observe

import "fmt"

// State is a pair of letters by which HAProxy says how a request or connection ended, and
// what it means (HAProxy manual, section 8.5).
type State struct{ Code, Meaning string }

// States are those that mean something of their own. For all others, causes and phases say
// each letter.
func States() []State {
	return []State{
		{"CR", "the client left before its request was complete"},
		{"cR", "the client did not send its request in time"},
		{"CQ", "the client left while its request waited for a pod"},
		{"CC", "the client left before the pod was connected"},
		{"CH", "the client left before the pod answered"},
		{"cH", "the client did not send the body of its request in time"},
		{"CD", "the client left during the answer"},
		{"cD", "the client took nothing of the answer, or sent nothing, for longer than the timeout"},
		{"CL", "the client left before it had the end of the answer"},
		{"cL", "the client did not take the end of the answer in time"},
		{"CT", "the client left while its answer was held back"},
		{"SC", "the pod refused the connection"},
		{"sC", "the pod could not be connected within the timeout"},
		{"SH", "the pod closed the connection before it answered"},
		{"sH", "the pod did not answer within the timeout"},
		{"SD", "the pod closed the connection during the answer"},
		{"sD", "the pod sent and took nothing for longer than the timeout"},
		{"SL", "the pod closed the connection before it had all of the request"},
		{"sL", "the pod did not take all of the request in time"},
		{"sQ", "no pod was free within the timeout of the queue"},
		{"PR", "the router refused the request: it is invalid, or a policy does not admit it"},
		{"PH", "the router refused the pod's answer: it is invalid, or too large"},
		{"PC", "the router had too many connections"},
		{"PD", "the router ended the answer: it is not well-formed"},
		{"PT", "the router held its refusal back"},
		{"LR", "the router answered by itself"},
		{"LC", "the router answered by itself"},
		{"RC", "the router had no free port or file for a connection to a pod"},
		{"DD", "the connection ended because its pod is not ready any more"},
		{"UD", "the connection ended because a better pod is ready again"},
		{"KD", "an administrator ended the connection at HAProxy"},
	}
}

// Causes are what the first letter means where the pair has no meaning of its own.
func Causes() []State {
	return []State{
		{"C", "the client left"},
		{"c", "the client was too slow"},
		{"S", "the pod closed or refused the connection"},
		{"s", "the pod was too slow"},
		{"P", "the router refused it"},
		{"L", "the router answered by itself"},
		{"R", "the router lacked memory, ports or files"},
		{"I", "HAProxy found an error of its own"},
		{"D", "its pod is not ready any more"},
		{"U", "a better pod is ready again"},
		{"K", "an administrator ended it"},
	}
}

// Phases are what the second letter means.
func Phases() []State {
	return []State{
		{"R", "while the request came in"},
		{"Q", "in the queue"},
		{"C", "while a pod was connected"},
		{"H", "before the answer"},
		{"D", "during the answer"},
		{"L", "at the end of the answer"},
		{"T", "while the answer was held back"},
	}
}

// meaning returns what a letter, or a pair of them, means.
func meaning(of []State, code string) string {
	for _, s := range of {
		if s.Code == code {
			return s.Meaning
		}
	}
	return ""
}

// Words says how a request ended, or nothing if there is nothing to say.
func Words(r *Record) string {
	const complete = "--"
	if r.Ended == complete || len(r.Ended) != len(complete) {
		return ""
	}
	if r.Ended == "SC" && r.Pod == "" {
		return "no pod was ready"
	}
	words := meaning(States(), r.Ended)
	if words == "" {
		cause, phase := meaning(Causes(), r.Ended[:1]), meaning(Phases(), r.Ended[1:])
		if words = cause; cause == "" {
			words = "HAProxy's state " + r.Ended
		}
		if phase != "" {
			words += " " + phase
		}
	}
	if r.Retries > 0 && r.Ended[1] == 'C' {
		words = fmt.Sprintf("%s (%d attempts)", words, r.Retries+1)
	}
	return words
}
