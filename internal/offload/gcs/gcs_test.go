// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gcs_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph/internal/offload"
	"github.com/adk-contextgraph/contextgraph/internal/offload/gcs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bucket is a server with the part of Cloud Storage's JSON API that uploads use.
type bucket struct {
	*httptest.Server
	t testing.TB
	// fail answers a request in the server's place when it returns true. n counts
	// the requests from 1.
	fail func(n int, w http.ResponseWriter, r *http.Request) bool

	mu       sync.Mutex
	requests []string // method and upload type
	objects  map[string]object
	sessions map[string]*session
}

type object struct {
	contentType string
	data        string
}

// session is a resumable upload.
type session struct {
	attrs attributes
	data  bytes.Buffer
}

// attributes are the fields of an object's metadata that clients send.
type attributes struct {
	Name        string `json:"name"`
	ContentType string `json:"contentType"`
	CRC32C      string `json:"crc32c"`
}

func newBucket(t testing.TB) *bucket {
	b := &bucket{t: t, objects: make(map[string]object), sessions: make(map[string]*session)}
	b.Server = httptest.NewServer(http.HandlerFunc(b.serve))
	t.Cleanup(b.Close)
	return b
}

func (b *bucket) serve(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	b.mu.Lock()
	b.requests = append(b.requests, r.Method+" "+q.Get("uploadType"))
	n := len(b.requests)
	b.mu.Unlock()
	if b.fail != nil && b.fail(n, w, r) {
		return
	}
	switch {
	case r.URL.Path != "/upload/storage/v1/b/agent-parts/o":
		refuse(w, http.StatusNotFound, "notFound")
	case q.Get("upload_id") != "":
		b.chunk(w, r, q.Get("upload_id"))
	case r.Method == http.MethodPost && q.Get("uploadType") == "multipart":
		attrs, contentType, data := b.readMultipart(r)
		attrs.ContentType = contentType
		b.store(w, r, attrs, data)
	case r.Method == http.MethodPost && q.Get("uploadType") == "resumable":
		s := new(session)
		if err := json.NewDecoder(r.Body).Decode(&s.attrs); err != nil {
			b.t.Error(err)
		}
		s.attrs.ContentType = r.Header.Get("X-Upload-Content-Type")
		b.mu.Lock()
		id := fmt.Sprint(len(b.sessions))
		b.sessions[id] = s
		b.mu.Unlock()
		q.Set("upload_id", id)
		w.Header().Set("Location", b.URL+r.URL.Path+"?"+q.Encode())
	default:
		b.t.Errorf("%s %s", r.Method, r.URL)
		refuse(w, http.StatusBadRequest, "badRequest")
	}
}

func (b *bucket) readMultipart(r *http.Request) (attrs attributes, contentType string, data []byte) {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		b.t.Error(err)
	}
	parts := multipart.NewReader(r.Body, params["boundary"])
	for i := range 2 {
		p, err := parts.NextPart()
		if err != nil {
			b.t.Error(err)
			return
		}
		body, err := io.ReadAll(p)
		if err != nil {
			b.t.Error(err)
		}
		if i == 1 {
			return attrs, p.Header.Get("Content-Type"), body
		}
		if err := json.Unmarshal(body, &attrs); err != nil {
			b.t.Error(err)
		}
	}
	return
}

// chunk takes a piece of a resumable upload.
func (b *bucket) chunk(w http.ResponseWriter, r *http.Request, id string) {
	b.mu.Lock()
	s := b.sessions[id]
	b.mu.Unlock()
	if _, err := s.data.ReadFrom(r.Body); err != nil {
		b.t.Error(err)
	}
	if strings.HasSuffix(r.Header.Get("Content-Range"), "/*") {
		w.Header().Set("X-Http-Status-Code-Override", "308")
		w.Header().Set("Range", fmt.Sprintf("bytes=0-%d", s.data.Len()-1))
		return
	}
	b.store(w, r, s.attrs, s.data.Bytes())
}

func (b *bucket) store(w http.ResponseWriter, r *http.Request, attrs attributes, data []byte) {
	if r.URL.Query().Get("ifGenerationMatch") != "0" {
		b.t.Errorf("upload without a precondition: %s", r.URL)
	}
	sum := binary.BigEndian.AppendUint32(nil, crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
	if want := base64.StdEncoding.EncodeToString(sum); attrs.CRC32C != want {
		b.t.Errorf("checksum %q, want %q", attrs.CRC32C, want)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.objects[attrs.Name]; ok {
		refuse(w, http.StatusPreconditionFailed, "conditionNotMet")
		return
	}
	b.objects[attrs.Name] = object{attrs.ContentType, string(data)}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]string{"name": attrs.Name, "bucket": "agent-parts", "generation": "1", "crc32c": attrs.CRC32C})
}

func refuse(w http.ResponseWriter, code int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"error": {"code": %d, "message": %q, "errors": [{"reason": %[2]q}]}}`, code, reason)
}

func (b *bucket) open(uri string) *gcs.Store {
	b.t.Helper()
	s, err := gcs.Open(b.t.Context(), uri, option.WithEndpoint(b.URL+"/storage/v1/"), option.WithHTTPClient(b.Client()))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.t.Error(err)
		}
	})
	return s
}

func TestCreate(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 20<<20/16)
	for _, tt := range []struct {
		name, uri, part, contentType, data string

		want     string // URI
		wantType string
		requests int
	}{
		{"small", "gs://agent-parts/a b/c", "2026-07-31/t/1.png", "image/png", "small",
			"gs://agent-parts/a b/c/2026-07-31/t/1.png", "image/png", 1},
		{"no prefix", "gs://agent-parts", "x", "text/plain", "data", "gs://agent-parts/x", "text/plain", 1},
		{"slash", "gs://agent-parts/", "x", "", "data", "gs://agent-parts/x", "application/octet-stream", 1},
		{"empty", "gs://agent-parts/p/", "x", "text/plain", "", "gs://agent-parts/p/x", "text/plain", 1},
		{"largest of one request", "gs://agent-parts", "x", "video/mp4", big[:8<<20], "gs://agent-parts/x", "video/mp4", 1},
		{"in whole chunks", "gs://agent-parts", "x", "video/mp4", big[:16<<20], "gs://agent-parts/x", "video/mp4", 4},
		{"in chunks", "gs://agent-parts", "x", "video/mp4", big, "gs://agent-parts/x", "video/mp4", 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBucket(t)
			s := b.open(tt.uri)
			if err := s.Create(t.Context(), tt.part, tt.contentType, []byte(tt.data)); err != nil {
				t.Fatal(err)
			}
			if got := s.URI(tt.part); got != tt.want {
				t.Errorf("URI %s, want %s", got, tt.want)
			}
			o := b.objects[strings.TrimPrefix(tt.want, "gs://agent-parts/")]
			if o.data != tt.data || o.contentType != tt.wantType {
				t.Errorf("stored %.20q of type %s", o.data, o.contentType)
			}
			if len(b.requests) != tt.requests {
				t.Errorf("requests: %v, want %d", b.requests, tt.requests)
			}
			err := s.Create(t.Context(), tt.part, tt.contentType, []byte("other"))
			if !errors.Is(err, offload.ErrExists) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Create again: %v", err)
			}
		})
	}
}

// upload stores one part through an Uploader, which tries again or does not.
func upload(t *testing.T, b *bucket, data string, timeout time.Duration) (offload.Stats, error) {
	t.Helper()
	u := offload.New(offload.Config{
		Store: b.open("gs://agent-parts/p"), QueueBytes: 64 << 20, Timeout: timeout,
		Logger: slog.New(slog.DiscardHandler),
	})
	if _, ok := u.Put("part", "text/plain", []byte(data)); !ok {
		t.Fatal("refused")
	}
	err := u.Flush(t.Context())
	if err := u.Close(t.Context()); err != nil {
		t.Error(err)
	}
	return u.Stats(), err
}

func TestPermanentFailures(t *testing.T) {
	for _, tt := range []struct {
		code int
		want string
	}{
		{http.StatusForbidden, "roles/storage.objectCreator"},
		{http.StatusUnauthorized, "renew the credentials"},
		{http.StatusNotFound, "create it, or correct its name"},
		{http.StatusBadRequest, "check its configuration"},
	} {
		b := newBucket(t)
		b.fail = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			refuse(w, tt.code, "no")
			return true
		}
		stats, err := upload(t, b, "data", time.Hour)
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), `bucket "agent-parts"`) {
			t.Errorf("%d: %v, want %q", tt.code, err, tt.want)
		}
		if stats.Lost[offload.ReasonFailed] != 1 || len(b.requests) != 1 {
			t.Errorf("%d: lost %v, requests %v", tt.code, stats.Lost, b.requests)
		}
	}
}

func TestTransientFailures(t *testing.T) {
	big := strings.Repeat("x", 9<<20)
	for _, tt := range []struct {
		name string
		data string
		fail func(n int, w http.ResponseWriter, r *http.Request) bool
	}{
		{"overloaded", "data", func(n int, w http.ResponseWriter, r *http.Request) bool {
			if n > 3 {
				return false
			}
			refuse(w, []int{0, 503, 429, 408}[n], "busy")
			return true
		}},
		{"connection lost", "data", func(n int, w http.ResponseWriter, r *http.Request) bool {
			if n > 1 {
				return false
			}
			panic(http.ErrAbortHandler)
		}},
		{"chunk lost", big, func(n int, w http.ResponseWriter, r *http.Request) bool {
			if n != 2 {
				return false
			}
			// Google's client uses the buffer of a chunk again at the answer, also while net/http still sends from it.
			_, _ = io.Copy(io.Discard, r.Body)
			refuse(w, 503, "busy")
			return true
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBucket(t)
			b.fail = tt.fail
			stats, err := upload(t, b, tt.data, time.Minute)
			if err != nil || stats.Stored != 1 || b.objects["p/part"].data != tt.data {
				t.Errorf("%v, stats %+v, requests %v", err, stats, b.requests)
			}
		})
	}
}

// TestAnswerLost: the object is stored, the client never hears of it, and finds the
// name taken by itself.
func TestAnswerLost(t *testing.T) {
	b := newBucket(t)
	b.fail = func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n > 1 {
			return false
		}
		attrs, contentType, data := b.readMultipart(r)
		attrs.ContentType = contentType
		b.store(httptest.NewRecorder(), r, attrs, data)
		panic(http.ErrAbortHandler)
	}
	stats, err := upload(t, b, "data", time.Hour)
	if err != nil || stats.Stored != 1 || len(b.requests) != 2 {
		t.Errorf("%v, stats %+v, requests %v", err, stats, b.requests)
	}
}

func TestHangingServer(t *testing.T) {
	for _, size := range []int{10, 9 << 20} {
		b := newBucket(t)
		b.fail = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			if _, err := io.Copy(io.Discard, r.Body); err == nil {
				<-r.Context().Done() // the client has left
			}
			return true
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		err := b.open("gs://agent-parts").Create(ctx, "x", "", make([]byte, size))
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

func TestOpen(t *testing.T) {
	b := newBucket(t)
	for _, tt := range []struct{ uri, want string }{
		{"gs://agent-parts/../p", "not a clean relative path"},
		{"gs://agent-parts//p", "not a clean relative path"},
		{"gs://agent-parts/.p", "begins with a dot"},
	} {
		_, err := gcs.Open(t.Context(), tt.uri, option.WithHTTPClient(b.Client()))
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), fmt.Sprintf("%q", tt.uri)) {
			t.Errorf("Open(%q): %v, want %q", tt.uri, err, tt.want)
		}
	}
	b.open("gs://agent-parts.example.com/" + strings.Repeat("p", 200))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := gcs.Open(ctx, "gs://agent-parts"); !errors.Is(err, context.Canceled) {
		t.Errorf("Open with an ended context: %v", err)
	}
	_, err := gcs.Open(t.Context(), "gs://agent-parts", option.WithAuthCredentialsFile(option.ServiceAccount, "no-such-file.json"))
	if err == nil || !strings.Contains(err.Error(), "check the credentials") {
		t.Errorf("Open without credentials: %v", err)
	}
}

func TestNames(t *testing.T) {
	s := newBucket(t).open("gs://agent-parts/" + strings.Repeat("p", 200))
	for name, want := range map[string]string{
		"../x":                          "not a clean relative path",
		strings.Repeat("a/", 450) + "a": "too long", // with the prefix
	} {
		if err := s.Create(t.Context(), name, "", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Create(%.20q): %v, want %q", name, err, want)
		}
	}
}
