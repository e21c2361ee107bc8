// Package revocation fetches the revocation lists that the authorities of
// clients' certificates publish (RFC 5280, 4.2.1.13: the distribution points in
// their own certificates), and keeps them fresh. It does not decide what a
// missing list means; package settings does.
//
//	CA bundle ─ Want ─▶ Fetcher ─ Lists ─▶ settings.Flags.Revocations
package revocation
