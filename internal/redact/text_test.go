// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/redact"
)

const pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA1\n-----END RSA PRIVATE KEY-----"

// jsonString returns the JSON form of v, as a string.
func jsonString(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSecretsInText(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"authorization header", "POST /v1\nAuthorization: Basic dXNlcjpwYXNzd29yZA==\nHost: x", "POST /v1\nAuthorization: [REDACTED]\nHost: x"},
		{"header in a sentence", "with Authorization: Bearer abc failed with 401", "with Authorization: [REDACTED] failed with 401"},
		{"header with a scheme of its own", "Authorization: Digest username=\"Mufasa\", response=\"6629fae4\"\nHost: x", "Authorization: [REDACTED]\nHost: x"},
		{"header in a command", `curl -H "Authorization: Bearer abc" -H 'X-Api-Key: k1' https://h`, `curl -H "Authorization: [REDACTED]" -H 'X-Api-Key: [REDACTED]' https://h`},
		{"headers printed by Go", "map[Authorization:[Bearer abc] Host:[x]]", "map[Authorization:[REDACTED] Host:[x]]"},
		{"proxy header", "Proxy-Authorization: Basic abc", "Proxy-Authorization: [REDACTED]"},
		{"cookies", "Set-Cookie: sid=abc; Path=/\nCookie: a=b; c=d\nAge: 1", "Set-Cookie: [REDACTED]\nCookie: [REDACTED]\nAge: 1"},
		{"bearer without a header", "sent Bearer oauth-token-1 then failed", "sent Bearer [REDACTED] then failed"},
		{"bearer in lower case", "bearer eyJhbGciOi.J9.x", "bearer [REDACTED]"},
		{"basic without a header", "retry with Basic dXNlcjpwYXNz", "retry with Basic [REDACTED]"},
		{"basic with letters only", "basic YWRtaW46cGFzcw==", "basic [REDACTED]"},
		{"key=value", "access_token=oauth-token-1", "access_token=[REDACTED]"},
		{"key: value", "client_secret: shh", "client_secret: [REDACTED]"},
		{"quoted", `"apiKey": "AIzaSyC7"`, `"apiKey": "[REDACTED]"`},
		{"quoted with escapes", `"password": "a\"b\\" next`, `"password": "[REDACTED]" next`},
		{"single quotes", `{'token': 'a\'b', 'n': 1}`, `{'token': '[REDACTED]', 'n': 1}`},
		{"spaces", "api key : abc", "api key : [REDACTED]"},
		{"words", "Your API key: abc. Bye", "Your API key: [REDACTED] Bye"},
		{"assignment", `os.environ["API_KEY"] = "abc"`, `os.environ["API_KEY"] = "[REDACTED]"`},
		{"arrow", `"password" => "abc"`, `"password" => "[REDACTED]"`},
		{"short declaration", "token := \"abc\"", "token := \"[REDACTED]\""},
		{"a harmless key before", "connect failed: user=bob password=hunter2", "connect failed: user=bob password=[REDACTED]"},
		{"list of pairs", "host=h,password=a,b;c,user=u", "host=h,password=[REDACTED],user=u"},
		{"connection string", "Server=h;Pwd=a;b;Database=d", "Server=h;Pwd=[REDACTED];Database=d"},
		{"in brackets", "(token=abc) and [secret: x]", "(token=[REDACTED]) and [secret: [REDACTED]]"},
		{"object as the value", `failed: {"credentials":{"user":"u","pass":"}"},"n":1} here`, `failed: {"credentials":"[REDACTED]","n":1} here`},
		{"number as the value", `failed: {"token":123,"n":1} here`, `failed: {"token":"[REDACTED]","n":1} here`},
		{"escaped JSON", `body: {\"api_key\":\"x\",\"n\":1}`, `body: {\"api_key\":\"[REDACTED]\",\"n\":1}`},
		{"escaped twice", `b: {\\\"api_key\\\":\\\"x\\\"y\\\",\\\"n\\\":1}`, `b: {\\\"api_key\\\":\\\"[REDACTED]\\\"y\\\",\\\"n\\\":1}`},
		{"percent-encoded JSON", "state=%7B%22token%22%3A%22x%22%7D&n=1", "state=%7B%22token%22%3A%22[REDACTED]%22%7D&n=1"},
		{"percent-encoded pair", "q=api_key%3Dx%26n%3D1", "q=api_key%3D[REDACTED]%26n%3D1"},
		{"percent-encoded key", "access%5Ftoken=SECRET", "access%5Ftoken=[REDACTED]"},
		{"percent-encoded twice", "access%255Ftoken%253DSECRET", "access%255Ftoken%253D[REDACTED]"},
		{"encoded in the value", "password=a%20b%22c&n=1", "password=[REDACTED]&n=1"},
		{"unicode escapes", `\u0061ccess_token=SECRET`, `\u0061ccess_token=[REDACTED]`},
		{"unicode escapes of the separator", `https://h?token\u003dabc\u0026n\u003d1`, `https://h?token\u003d[REDACTED]\u0026n\u003d1`},
		{"a path that looks like an escape", `dir\token=abc`, `dir\token=[REDACTED]`},
		{"a percent sign before the key", "%4api_key=abc", "%4api_key=[REDACTED]"},
		{"character references", "{&quot;token&quot;:&quot;abc&quot;}", redact.MarkSensitive},
		{"private key", "key:\n" + pem + "\nend", "key:\n[REDACTED]\nend"},
		{"private key without an end", "-----BEGIN PRIVATE KEY-----\nMIIE", "[REDACTED]"},
		{"public key", "-----BEGIN PUBLIC KEY-----\nMIIE\n-----END PUBLIC KEY-----", "-----BEGIN PUBLIC KEY-----\nMIIE\n-----END PUBLIC KEY-----"},
		{"user and password of a URI", "postgres://user:pa@ss@host/db?x=1", "postgres://[REDACTED]@host/db?x=1"},
		{"password with a slash", "postgres://user:pa/ss@host/db", "postgres://[REDACTED]@host/db"},
		{"token as the user", "git clone https://ghp_abc@github.com/o/r", "git clone https://[REDACTED]@github.com/o/r"},
		{"nobody's user", "ssh://git@github.com/o/r http://h:8080/@x", "ssh://git@github.com/o/r http://h:8080/@x"},
		{"signed URI of Google", "https://storage.googleapis.com/b/o?X-Goog-Algorithm=A&X-Goog-Credential=c%2Fd&X-Goog-Signature=ff&Expires=9", "https://storage.googleapis.com/b/o?X-Goog-Algorithm=[REDACTED]&X-Goog-Credential=[REDACTED]&X-Goog-Signature=[REDACTED]&Expires=9"},
		{"signed URI of the old kind", "https://h/o?GoogleAccessId=a@b&Expires=9&Signature=x%2By", "https://h/o?GoogleAccessId=[REDACTED]&Expires=9&Signature=[REDACTED]"},
		{"signed URI of Azure", "https://h/o?se=2026&sp=r&sig=abc%3D", "https://h/o?se=2026&sp=r&sig=[REDACTED]"},
		{"API key of a URI", "GET https://api/v1/models?alt=json&key=AIzaSyC7 failed", "GET https://api/v1/models?alt=json&key=[REDACTED] failed"},
		{"fragment", "https://app/cb#access_token=abc&state=1", "https://app/cb#access_token=[REDACTED]&state=1"},
		{"URI in a URI", "https://h?u=https%3A%2F%2Fx%2F%3Ftoken%3Dabc%26y%3D1", "https://h?u=https%3A%2F%2Fx%2F%3Ftoken%3D[REDACTED]%26y%3D1"},
		{"state of the session", "temp:oauth_state=xyz", "temp:oauth_state=[REDACTED]"},
		{"element", "<password>a&amp;b</password><user>u</user>", "<password>[REDACTED]</password><user>u</user>"},
		{"not JSON at the end", `{"token": "abc"`, `{"token": "[REDACTED]"`},
		{"not JSON in the middle", `[{"api_key":"SECRET"}, oops]`, `[{"api_key":"[REDACTED]"}, oops]`},
		{"a quote without an end", `token="abc def`, `token="[REDACTED]`},
		{"a separator in the value", "token=api_key: abc", "token=[REDACTED] [REDACTED]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c redact.Cleaner
			if got := c.Clean(tt.in); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if c.Redacted == 0 != (tt.in == tt.want) || (c.Lost > 0) != strings.Contains(tt.want, redact.MarkSensitive) {
				t.Errorf("redacted %d, lost %d", c.Redacted, c.Lost)
			}
			n := c.Redacted
			if again := c.Clean(tt.want); again != tt.want || c.Redacted != n {
				t.Errorf("cleaned twice: %s, %d more", again, c.Redacted-n)
			}
		})
	}
}

// What is not secret stays byte for byte.
func TestTextWithoutSecrets(t *testing.T) {
	for _, s := range []string{
		"[INFO] request finished: 3 agents, 2 tools (ratio = 1.5)",
		"[urgent] find flights to SFO",
		"{'status': 'ok', 'rows': 3}",
		"[link](https://example.com) see the docs",
		`C:\Users\secret\project\file.json`,
		`Invalid \escape at position 4: \x5c`,
		"the bearer of bad news", "Bearer authentication is required.", "a basic principle: none", "Basic auth failed",
		`WWW-Authenticate: Basic realm="x"`,
		"design=balanced", "signal=strong", "monkey: 3, author=me",
		"progress%3D100%25 complete", "literal%2525value",
		"page_token=abc next_page_token: def NextToken=x continuation_token=y sync_token=z the next page token: q",
		"prompt_token_count: 5, max_output_tokens=100 total_tokens: 6 tokens: 7 time_to_first_token: 8",
		"at 10:30 see https://h:8080/p?x=1&y=2#z, mail bob@example.com",
		`{"a":"b\u00e4\n","n":[1,2.5e3,null,true]}`,
		"{\"a\" : 1}\n{\"b\" : 2}\n", "\ufeff {\"a\":1}\u2003",
		"vector<Token> x = f(a->b); if (a == b) { }",
		"-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
		"| a | b |\n|-----------|---|", strings.Repeat(`\`, 100),
		"password:", `"token":""`,
	} {
		var c redact.Cleaner
		if got := c.Clean(s); got != s || c.Redacted != 0 || c.Lost > 0 {
			t.Errorf("%q became %q, redacted %d, lost %d", s, got, c.Redacted, c.Lost)
		}
	}
}

func TestSecretsInEmbeddedJSON(t *testing.T) {
	secret := map[string]any{"user": "ada", "n": 1, "access_token": "SECRET"}
	once := jsonString(t, secret)
	for _, tt := range []struct{ name, in, want string }{
		{"once", once, `{"access_token":"[REDACTED]","n":1,"user":"ada"}`},
		{"in JSON in JSON", jsonString(t, map[string]any{"inner": once}), jsonString(t, map[string]any{"inner": `{"access_token":"[REDACTED]","n":1,"user":"ada"}`})},
		{"a string of a string", jsonString(t, jsonString(t, once)), jsonString(t, jsonString(t, `{"access_token":"[REDACTED]","n":1,"user":"ada"}`))},
		{"spaces stay", " [ {\"token\" :\t\"SECRET\" } ,1 ]\n", " [ {\"token\" :\t\"[REDACTED]\" } ,1 ]\n"},
		{"a byte order mark and other space", "\ufeff\u2003{\"token\":\"SECRET\"}\u00a0", "\ufeff\u2003{\"token\":\"[REDACTED]\"}\u00a0"},
		{"duplicate keys", `{"token":"SECRET","token":"SECRET2"}`, `{"token":"[REDACTED]","token":"[REDACTED]"}`},
		{"objects and lists", `{"credentials":{"a":["SECRET"]},"api_keys":["SECRET"],"n":1}`, `{"credentials":"[REDACTED]","api_keys":"[REDACTED]","n":1}`},
		{"numbers", `{"token":123}`, `{"token":"[REDACTED]"}`},
		{"escapes in the key", `{"access\u005ftoken":"SECRET"}`, `{"access\u005ftoken":"[REDACTED]"}`},
		{"escapes in the text", `{"u":"token\u003dSECRET"}`, `{"u":"token=[REDACTED]"}`},
		{"a header in a text", `{"out":"HTTP/1.1\nAuthorization: Bearer SECRET\nHost: x"}`, `{"out":"HTTP/1.1\nAuthorization: [REDACTED]\nHost: x"}`},
		{"a key that is a URI", `{"https://u:SECRET@h":1}`, `{"https://[REDACTED]@h":1}`},
		{"several documents", "{\"token\":\"SECRET\"}\n{\"a\":1}", "{\"token\":\"[REDACTED]\"}\n{\"a\":1}"},
		{"surrogates", `{"a":"\ud83d\ude00 token: SECRET","b":"\ud83d token: SECRET"}`, "{\"a\":\"\U0001f600 token: [REDACTED]\",\"b\":\"\ufffd token: [REDACTED]\"}"},
		{"too deep to be read", strings.Repeat("[", 2000) + `{"token":"SECRET"}` + strings.Repeat("]", 2000), strings.Repeat("[", 2000) + `{"token":"[REDACTED]"}` + strings.Repeat("]", 2000)},
		{"temporary state", `{"temp:draft":{"a":"SECRET"}}`, `{"temp:draft":"[REDACTED]"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c redact.Cleaner
			if diff := cmp.Diff(tt.want, c.Clean(tt.in)); diff != "" {
				t.Errorf("mismatch (-want +got):\n%s", diff)
			}
			if c.Redacted == 0 {
				t.Error("Redacted = 0")
			}
		})
	}
}

func TestSecretKeys(t *testing.T) {
	for _, tt := range []struct {
		secret bool
		keys   string
	}{
		{true, `access_token Access-Token accessToken ACCESS_TOKEN idToken refresh_token token github_token developer_token exchangeToken
			backend_token asyncToken launchpad_token csrf_token client_token X-Auth-Token xoauth.token token2 bot_token
			client_secret app_secret secret secrets secret_string aws_secret_access_key STRIPE_SECRET_KEY SECRET_KEY
			api_key apiKey X-Api-Key x-goog-api-key api_keys openai_api_key OPENAI_API_KEY_2 Ocp-Apim-Subscription-Key
			password db_password dbPassword passwd mysql_pwd new_password1 password2 passphrase passcode db_pass passwordHash
			private_key sshPrivateKey privateKeyData client-key-data access_key account_key AccountKey SharedAccessKey
			signing_key encryption_key master_key authorization Authorization Proxy-Authorization X-Serverless-Authorization
			credential credentials aws_credentials authCredential sig Signature SharedAccessSignature jwt bearer
			Cookie Set-Cookie cookies session_cookie googleAccessId AWSAccessKeyId Key-Pair-Id SAMLResponse device_code code_verifier client_assertion
			X-Amz-Signature X-Amz-Security-Token x_amz_credential X-Goog-Credential temp:anything user:password app:token`},
		{false, `page_token pageToken next_page_token nextPageToken NextToken nextpagetoken startPageToken newStartPageToken
			continuation_token sync_token nextSyncToken cursor_token resumeToken eos_token pad_token cost_per_token
			time_to_first_token time_per_output_token prompt_token_count max_output_tokens total_tokens tokens totalTokenCount
			token_type tokenUri token_count tokenizer author authority authorized authorization_url priorAuthorization
			preauthorization monkey key keys public_key primary_key partition_key idempotency_key keyboard signal design
			thought_signature method_signature secretary secret_name secret_id password_policy passenger compass bypass pass
			passed access access_id session_id user_id id se sp Expires expires_in code state name description version
			session creation nation status credits sign cook cookiecutter sigma temp temperature user: app: user:temp`},
	} {
		for _, k := range strings.Fields(tt.keys) {
			if got := (*redact.Rules)(nil).Secret(k); got != tt.secret {
				t.Errorf("%s: secret = %v", k, got)
			}
		}
	}
}
