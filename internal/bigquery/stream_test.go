// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/api/option"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/replicate"
	"github.com/adk-contextgraph/contextgraph/internal/schema/wire"
	"github.com/adk-contextgraph/contextgraph/internal/writefake"
	"github.com/adk-contextgraph/contextgraph/record"
)

const streamName = "projects/my-project/datasets/agents/tables/agent_events/streams/_default"

// newServer starts a fake that ends with the test.
func newServer(t testing.TB, o writefake.Options) *writefake.Server {
	t.Helper()
	server, err := writefake.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server
}

// newTarget returns the target of a dataset whose write service is server.
func newTarget(t testing.TB, server *writefake.Server, o ...option.ClientOption) replicate.Target {
	t.Helper()
	cfg := config.BigQuery{Project: "my-project", Dataset: "agents"}
	d, err := bigquery.NewDataset(t.Context(), cfg, bigquery.DatasetOptions{
		Client: []option.ClientOption{option.WithEndpoint("http://127.0.0.1:1"), option.WithoutAuthentication()},
		Write:  append(server.ClientOptions(), o...),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d.Target()
}

// open opens a stream that is closed with the test.
func open(t testing.TB, target replicate.Target) replicate.Stream {
	t.Helper()
	stream, err := target.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stream.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return stream
}

// rows returns the encoded rows n to n+count-1.
func rows(n, count int) [][]byte {
	out := make([][]byte, count)
	for i := range out {
		out[i] = wire.RowOf(&record.Event{
			Timestamp: int64(n + i), EventID: eventID(n + i), EventType: "TOOL_COMPLETED", UserID: "u", SessionID: "s",
			Content: []byte(`{"a":1}`), ContentParts: []byte(`[{"mime_type":"text/plain","text":"hi","part_index":0}]`), Status: record.StatusOK,
		}).Append(nil)
	}
	return out
}

// kilobyte returns row n, of about 1 KB.
func kilobyte(n int) []byte {
	e := newEvent(n, payload)
	return wire.RowOf(&e).Append(nil)
}

// payload makes rows of 1,024 bytes, encoded.
const payload = 814

// testSessions is how many sessions the rows of newEvent are of, by turns.
const testSessions = 3

func newEvent(i, payload int) record.Event {
	return record.Event{
		Timestamp: 1_700_000_000_000_000 + int64(i), EventID: eventID(i), EventType: "TOOL_COMPLETED", Agent: "buyer",
		AppName: "app", UserID: "u", SessionID: fmt.Sprint("s", i%testSessions), InvocationID: "inv", RunID: "run", RunSeq: int64(i/testSessions + 1),
		TraceID: "0123456789abcdef0123456789abcdef", SpanID: "0123456789abcdef", Status: record.StatusOK,
		Content: []byte(`{"result":"` + strings.Repeat("x", payload) + `"}`), Attributes: []byte(`{"adk":{"app_name":"app"}}`),
	}
}

func eventID(n int) string { return fmt.Sprintf("%032x", n) }

// send appends and waits.
func send(t testing.TB, stream replicate.Stream, rows [][]byte) error {
	t.Helper()
	pending, err := stream.Append(t.Context(), rows)
	if err != nil {
		return err
	}
	return pending.Wait(t.Context())
}

func TestStreamAppend(t *testing.T) {
	t.Parallel()
	server := newServer(t, writefake.Options{})
	stream := open(t, newTarget(t, server))
	var waiting []replicate.Pending
	for i := range 3 {
		p, err := stream.Append(t.Context(), rows(10*i, 10))
		if err != nil {
			t.Fatal(err)
		}
		waiting = append(waiting, p)
	}
	for i, p := range waiting {
		if err := p.Wait(t.Context()); err != nil {
			t.Errorf("request %d: %v", i, err)
		}
	}

	var want []string
	for i := range 30 {
		want = append(want, eventID(i))
	}
	if diff := cmp.Diff(want, server.EventIDs()); diff != "" {
		t.Errorf("rows of the table (-want +got):\n%s", diff)
	}
	first := server.Rows()[0].Fields()
	wantFields := map[string]any{
		"timestamp": int64(0), "event_id": eventID(0), "event_type": "TOOL_COMPLETED", "user_id": "u", "session_id": "s",
		"content": `{"a":1}`, "status": "OK", "is_truncated": false,
		"content_parts": []any{map[string]any{"mime_type": "text/plain", "text": "hi", "part_index": int64(0)}},
	}
	if diff := cmp.Diff(wantFields, first); diff != "" {
		t.Errorf("first row (-want +got):\n%s", diff)
	}

	connections := server.Connections()
	if len(connections) != 1 {
		t.Fatalf("%d connections, want 1", len(connections))
	}
	c := connections[0]
	if !strings.Contains(c.TraceID, " contextgraph:") {
		t.Errorf("trace id %q does not name contextgraph", c.TraceID)
	}
	c.TraceID = ""
	wantConnection := writefake.Connection{
		Routing: []string{"write_stream=" + url.QueryEscape(streamName)}, Stream: streamName, Schemas: 1, Requests: 3,
	}
	if diff := cmp.Diff(wantConnection, c); diff != "" {
		t.Errorf("connection (-want +got):\n%s", diff)
	}
}

// withReason is PERMISSION_DENIED with the detail that Google's APIs add to it.
func withReason(reason string) error {
	s, err := status.New(codes.PermissionDenied, "denied").WithDetails(&errdetails.ErrorInfo{Reason: reason})
	if err != nil {
		panic(err)
	}
	return s.Err()
}

// TestStreamErrors says, for each error the service may give, what is made of it.
func TestStreamErrors(t *testing.T) {
	t.Parallel()
	const table = "projects/my-project/datasets/agents/tables/agent_events"
	storage := func(code codes.Code, c storagepb.StorageError_StorageErrorCode) writefake.Answer {
		return writefake.Answer{Error: writefake.StorageError(code, c, "words of the server")}
	}
	denied := status.Error(codes.PermissionDenied, "Permission 'TABLES_UPDATE_DATA' denied on resource '"+table+"' (or it may not exist).")
	tests := []struct {
		name   string
		answer writefake.Answer
		class  replicate.Class
		words  string
		remedy string
	}{
		{"EOF", writefake.EndBefore(nil), replicate.ClassAmbiguous, "EOF", ""},
		{"draining", writefake.EndBefore(status.Error(codes.Unavailable, "the connection is draining")), replicate.ClassTransient, "draining", ""},
		{"aborted", writefake.EndBefore(status.Error(codes.Aborted, "words")), replicate.ClassTransient, "words", ""},
		{"internal", writefake.EndBefore(status.Error(codes.Internal, "words")), replicate.ClassAmbiguous, "words", ""},
		{"deadline", writefake.EndBefore(status.Error(codes.DeadlineExceeded, "words")), replicate.ClassAmbiguous, "words", ""},
		{"canceled", writefake.EndBefore(status.Error(codes.Canceled, "words")), replicate.ClassAmbiguous, "words", ""},
		{"unavailable in band", writefake.Failed(codes.Unavailable, "memory-protection"), replicate.ClassTransient, "memory-protection", ""},
		{"precondition", writefake.Failed(codes.FailedPrecondition, "words"), replicate.ClassTransient, "words", ""},
		{"throughput in band", writefake.Failed(codes.ResourceExhausted, "Exceeds 'AppendRows throughput' quota, user_id: project01_us (status: INSUFFICIENT_TOKENS)"),
			replicate.ClassExhausted, "throughput", "quota of throughput (AppendBytesThroughputPerProject…)"},
		{"throughput by its limit", writefake.EndBefore(withLimit("AppendBytesThroughputPerProjectEU")), replicate.ClassExhausted, "words", "quota of throughput"},
		{"connections", writefake.EndBefore(status.Error(codes.ResourceExhausted, "Exceeds 'Concurrent connections' quota")),
			replicate.ClassExhausted, "connections", "quota of connections (ConcurrentWriteConnectionsPerProject…)"},
		{"connections by their limit", writefake.EndBefore(withLimit("ConcurrentWriteConnectionsPerProjectRegion")), replicate.ClassExhausted, "words", "service account of another project"},
		{"another quota", writefake.EndBefore(withLimit("CreateWriteStreamPerMinute")), replicate.ClassExhausted, "words", "more of the quota CreateWriteStreamPerMinute"},
		{"a quota", writefake.EndBefore(status.Error(codes.ResourceExhausted, "words")), replicate.ClassExhausted, "words", "look which"},
		{"table not found", writefake.EndBefore(writefake.TableNotFound(table)), replicate.ClassNotFound, "not found", "contextgraph init"},
		{"not found", writefake.Failed(codes.NotFound, "words"), replicate.ClassNotFound, "words", table},
		{"permission", writefake.EndBefore(denied), replicate.ClassPermanent, "TABLES_UPDATE_DATA", "roles/bigquery.dataEditor (permission bigquery.tables.updateData) on " + table},
		{"API disabled", writefake.EndBefore(withReason("SERVICE_DISABLED")), replicate.ClassPermanent, "denied", "gcloud services enable bigquerystorage.googleapis.com"},
		{"billing", writefake.EndBefore(withReason("BILLING_DISABLED")), replicate.ClassPermanent, "denied", "billing"},
		{"credentials", writefake.EndBefore(status.Error(codes.Unauthenticated, "Request had invalid authentication credentials.")), replicate.ClassPermanent, "credentials", "service account"},
		{"token", writefake.EndBefore(status.Error(codes.Unauthenticated, "transport: per-RPC creds failed due to error: dial tcp: no such host")), replicate.ClassTransient, "no such host", "service account"},
		{"token revoked", writefake.EndBefore(status.Error(codes.Unauthenticated, `transport: per-RPC creds failed due to error: auth: "invalid_grant"`)), replicate.ClassPermanent, "invalid_grant", "service account"},
		{"no such service", writefake.EndBefore(status.Error(codes.Unimplemented, "words")), replicate.ClassPermanent, "words", "endpoint"},
		{"whole request", writefake.Failed(codes.InvalidArgument, "Request contains an invalid argument."), replicate.ClassRows, "invalid argument", ""},
		{"too large", writefake.EndBefore(status.Error(codes.InvalidArgument, "AppendRows request too large: 11854265 limit 10485760")), replicate.ClassTooLarge, "11854265", ""},
		{"extra fields", storage(codes.InvalidArgument, storagepb.StorageError_SCHEMA_MISMATCH_EXTRA_FIELDS), replicate.ClassSchema, "words of the server", "contextgraph init"},
		{"extra fields, in words", writefake.Failed(codes.InvalidArgument, "Input schema has more fields than BigQuery schema, extra fields: 'x'"), replicate.ClassSchema, "'x'", "contextgraph init"},
		{"key service", storage(codes.Internal, storagepb.StorageError_KMS_SERVICE_ERROR), replicate.ClassTransient, "words of the server", ""},
		{"key", storage(codes.FailedPrecondition, storagepb.StorageError_KMS_PERMISSION_DENIED), replicate.ClassPermanent, "words of the server", "roles/cloudkms.cryptoKeyEncrypterDecrypter"},
		{"another", writefake.Failed(codes.OutOfRange, "words"), replicate.ClassPermanent, "words", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := newServer(t, writefake.Options{})
			server.Script(tt.answer)
			target := newTarget(t, server)
			err := send(t, open(t, target), rows(0, 3))
			var got *replicate.Error
			if !errors.As(err, &got) {
				t.Fatalf("error %v (%T), want *replicate.Error", err, err)
			}
			if got.Class != tt.class || !strings.Contains(got.Error(), tt.words) || !strings.Contains(got.Remedy, tt.remedy) || (tt.remedy == "") != (got.Remedy == "") {
				t.Errorf("class %v, remedy %q, %v\nwant class %v, remedy with %q, words %q", got.Class, got.Remedy, got, tt.class, tt.remedy, tt.words)
			}
			if n := server.Distinct(); n != 0 {
				t.Errorf("%d rows were applied", n)
			}
			// The stream that failed is replaced by another one, and that works.
			if err := send(t, open(t, target), rows(0, 3)); err != nil {
				t.Errorf("on a new stream: %v", err)
			}
			if n := server.Distinct(); n != 3 {
				t.Errorf("%d rows in the table, want 3", n)
			}
		})
	}
}

// withLimit is a refusal that names its quota, as Google's APIs do.
func withLimit(limit string) error {
	s, err := status.New(codes.ResourceExhausted, "words, with connections and throughput").WithDetails(&errdetails.ErrorInfo{
		Reason: "RATE_LIMIT_EXCEEDED", Domain: "googleapis.com",
		Metadata: map[string]string{"service": "bigquerystorage.googleapis.com", "quota_limit": limit},
	})
	if err != nil {
		panic(err)
	}
	return s.Err()
}

func TestStreamRowErrors(t *testing.T) {
	t.Parallel()
	server := newServer(t, writefake.Options{})
	stream := open(t, newTarget(t, server))
	server.Script(writefake.Answer{BadRows: []int{1, 4}})
	err := send(t, stream, rows(0, 6))
	var got *replicate.Error
	if !errors.As(err, &got) {
		t.Fatalf("error %v (%T), want *replicate.Error", err, err)
	}
	const words = "Field content: the script refuses this row"
	want := []replicate.RowError{{Index: 1, Code: "FIELDS_ERROR", Message: words}, {Index: 4, Code: "FIELDS_ERROR", Message: words}}
	if diff := cmp.Diff(want, got.Rows); diff != "" || got.Class != replicate.ClassRows {
		t.Errorf("class %v, rows (-want +got):\n%s", got.Class, diff)
	}
	if server.Distinct() != 0 {
		t.Error("rows of a refused request were applied")
	}
	if err := send(t, stream, rows(0, 1)); err != nil {
		t.Errorf("the same stream, after: %v", err)
	}
	// A row that is no message, as the service sees it.
	if err := send(t, stream, [][]byte{rows(7, 1)[0], {0xff}}); !errors.As(err, &got) || len(got.Rows) != 1 || got.Rows[0].Index != 1 {
		t.Errorf("a row that cannot be decoded: %v", err)
	}
	if n := len(server.Connections()); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

// TestStreamOpenErrors shows that opening is tried once, and tells why it failed: the
// client library would try for minutes and say nothing.
func TestStreamOpenErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		err   error
		class replicate.Class
	}{
		{"unavailable", status.Error(codes.Unavailable, "words"), replicate.ClassTransient},
		{"exhausted", status.Error(codes.ResourceExhausted, "words"), replicate.ClassExhausted},
		{"deadline", status.Error(codes.DeadlineExceeded, "words"), replicate.ClassAmbiguous},
		{"not found", writefake.TableNotFound("words"), replicate.ClassNotFound},
		{"permission", status.Error(codes.PermissionDenied, "words"), replicate.ClassPermanent},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := newServer(t, writefake.Options{})
			server.Lookups(tt.err)
			target := newTarget(t, server)
			_, err := target.Open(t.Context())
			var got *replicate.Error
			if !errors.As(err, &got) || got.Class != tt.class || !strings.Contains(err.Error(), "words") {
				t.Errorf("Open: %v, want class %v", err, tt.class)
			}
			if n := server.LookupCount(); n != 1 {
				t.Errorf("%d calls, want 1", n)
			}
			if err := send(t, open(t, target), rows(0, 1)); err != nil {
				t.Errorf("after: %v", err)
			}
		})
	}
}

// TestStreamServerDown takes the server away under a stream and before one.
func TestStreamServerDown(t *testing.T) {
	t.Parallel()
	server := newServer(t, writefake.Options{})
	target := newTarget(t, server)
	stream := open(t, target)
	if err := send(t, stream, rows(0, 1)); err != nil {
		t.Fatal(err)
	}
	held := make(chan struct{})
	server.Script(writefake.Answer{Hold: held})
	p, err := stream.Append(t.Context(), rows(1, 1))
	if err != nil {
		t.Fatal(err)
	}
	server.Stop()
	close(held)
	var got *replicate.Error
	if err := p.Wait(t.Context()); !errors.As(err, &got) || got.Class > replicate.ClassTransient {
		t.Errorf("Wait when the server is gone: %v", err)
	}
	if err := send(t, stream, rows(2, 1)); !errors.As(err, &got) || got.Class > replicate.ClassTransient {
		t.Errorf("Append when the server is gone: %v", err)
	}
	if _, err := target.Open(t.Context()); !errors.As(err, &got) || got.Class != replicate.ClassTransient {
		t.Errorf("Open when the server is gone: %v", err)
	}
	server.Listen()
	if err := send(t, open(t, target), rows(1, 2)); err != nil {
		t.Errorf("when it is back: %v", err)
	}
	if n := server.Distinct(); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
}

// TestStreamConnectFails has the call fail that makes the connection, after the lookup
// that precedes it succeeded. It is tried once.
func TestStreamConnectFails(t *testing.T) {
	t.Parallel()
	server := newServer(t, writefake.Options{})
	calls := 0
	fail := func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, grpc.Streamer, ...grpc.CallOption) (grpc.ClientStream, error) {
		calls++
		return nil, status.Error(codes.Unavailable, "words")
	}
	stream := open(t, newTarget(t, server, option.WithGRPCDialOption(grpc.WithChainStreamInterceptor(fail))))
	var got *replicate.Error
	if err := send(t, stream, rows(0, 1)); !errors.As(err, &got) || got.Class != replicate.ClassTransient || !strings.Contains(err.Error(), "words") {
		t.Errorf("Append: %v", err)
	}
	if calls != 1 {
		t.Errorf("%d calls, want 1", calls)
	}
}

func TestStreamTooLarge(t *testing.T) {
	t.Parallel()
	server := newServer(t, writefake.Options{})
	stream := open(t, newTarget(t, server))
	big := func(size int) [][]byte {
		e := &record.Event{EventID: eventID(1), Status: record.StatusOK, Content: bytes.Repeat([]byte("x"), size)}
		return [][]byte{wire.RowOf(e).Append(nil)}
	}
	held := make(chan struct{})
	server.Script(writefake.Answer{Hold: held})
	before, err := stream.Append(t.Context(), rows(0, 1))
	if err != nil {
		t.Fatal(err)
	}
	var got *replicate.Error
	if _, err := stream.Append(t.Context(), big(10_485_760)); !errors.As(err, &got) || got.Class != replicate.ClassTooLarge {
		t.Errorf("a request over the limit: %v", err)
	}
	close(held)
	if err := before.Wait(t.Context()); err != nil {
		t.Errorf("the request before it: %v", err)
	}
	// What the configuration lets through at most, on a connection of its own, so that
	// the schema is in the request.
	for _, size := range []int{replicate.MaxRequestBytes, 10_485_760 - 8<<10} {
		if err := send(t, open(t, newTarget(t, server)), big(size)); err != nil {
			t.Errorf("a request of %d bytes: %v", size, err)
		}
	}
}

// TestStreamAnswersAstray has answers in another order, and one too few: what was
// answered is in the table, and what has no answer is waited for.
func TestStreamAnswersAstray(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]writefake.Answer{"swapped": {Swapped: true}, "missing": {Missing: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newServer(t, writefake.Options{})
			stream := open(t, newTarget(t, server))
			server.Script(first)
			var waiting []replicate.Pending
			for i := range 2 {
				p, err := stream.Append(t.Context(), rows(i, 1))
				if err != nil {
					t.Fatal(err)
				}
				waiting = append(waiting, p)
			}
			if err := waiting[0].Wait(t.Context()); err != nil {
				t.Error(err)
			}
			if server.Applied(eventID(0)) == 0 {
				t.Error("answered, and not in the table")
			}
			if !first.Missing {
				if err := waiting[1].Wait(t.Context()); err != nil {
					t.Error(err)
				}
				return
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := waiting[1].Wait(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("Wait: %v", err)
			}
		})
	}
}

// TestStreamUpdatedSchema shows that news of another schema are no error.
func TestStreamUpdatedSchema(t *testing.T) {
	t.Parallel()
	server := newServer(t, writefake.Options{})
	stream := open(t, newTarget(t, server))
	server.Script(writefake.Answer{UpdatedSchema: &storagepb.TableSchema{Fields: []*storagepb.TableFieldSchema{{Name: "new"}}}})
	for i := range 2 {
		if err := send(t, stream, rows(i, 1)); err != nil {
			t.Error(err)
		}
	}
	if n := len(server.Connections()); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

// TestStreamCloseWaiting closes a stream whose request has no answer.
func TestStreamCloseWaiting(t *testing.T) {
	t.Parallel()
	server := newServer(t, writefake.Options{})
	stream := open(t, newTarget(t, server))
	server.Script(writefake.Answer{Silent: true})
	p, err := stream.Append(t.Context(), rows(0, 1))
	if err != nil {
		t.Fatal(err)
	}
	waited := make(chan error, 1)
	go func() { waited <- p.Wait(context.Background()) }()
	for range 2 {
		if err := stream.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	var got *replicate.Error
	if err := <-waited; !errors.As(err, &got) || got.Class != replicate.ClassAmbiguous {
		t.Errorf("Wait: %v", err)
	}
	if _, err := stream.Append(t.Context(), rows(0, 1)); !errors.As(err, &got) || got.Class != replicate.ClassAmbiguous {
		t.Errorf("Append after Close: %v", err)
	}
}

// TestStreamDeaf fills the connection of a server that reads no more, so that Append
// waits inside the client library, with its locks held.
func TestStreamDeaf(t *testing.T) {
	t.Parallel()
	for i, end := range []string{"context", "Close", "context", "Close", "context", "Close"} {
		t.Run(fmt.Sprint(end, i), func(t *testing.T) {
			t.Parallel()
			server := newServer(t, writefake.Options{})
			stream := open(t, newTarget(t, server))
			server.Script(writefake.Answer{Deaf: true})
			// Larger than what lies in the buffers of HTTP/2 and TCP.
			rows := [][]byte{wire.RowOf(&record.Event{Status: record.StatusOK, Content: bytes.Repeat([]byte("x"), 8<<20)}).Append(nil)}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			began, stuck := make(chan struct{}), make(chan error, 1)
			go func() {
				for i := 0; ; i++ {
					if _, err := stream.Append(ctx, rows); err != nil {
						stuck <- err
						return
					}
					if i == 1 { // the client library takes one beyond the buffers
						close(began)
					}
				}
			}()
			<-began
			if end == "context" {
				cancel()
				if err := <-stuck; !errors.Is(err, context.Canceled) {
					t.Errorf("Append: %v", err)
				}
			}
			if err := stream.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			if end == "Close" {
				if err := <-stuck; err == nil {
					t.Error("Append of a closed stream succeeded")
				}
			}
		})
	}
}

// TestStreamOpenEnds shows that the context bounds the opening, and not the stream.
func TestStreamOpenEnds(t *testing.T) {
	t.Parallel()
	server := newServer(t, writefake.Options{})
	target := newTarget(t, server)
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := target.Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	cancel()
	if err := send(t, stream, rows(0, 1)); err != nil {
		t.Errorf("the stream did not outlive the context of its opening: %v", err)
	}
	if _, err := target.Open(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Open: %v, want canceled", err)
	}
}

func TestTargetUpgrade(t *testing.T) {
	t.Parallel()
	target := newTarget(t, newServer(t, writefake.Options{}))
	calls := 0
	bigquery.SetUpgrade(target, func(context.Context) error { calls++; return io.ErrUnexpectedEOF })
	if err := target.Upgrade(t.Context()); !errors.Is(err, io.ErrUnexpectedEOF) || calls != 1 {
		t.Errorf("Upgrade: %v after %d calls", err, calls)
	}
	bigquery.SetUpgrade(target, nil)
	want := &replicate.Error{Class: replicate.ClassPermanent, Remedy: `run "contextgraph init", which adds the columns that the table lacks`}
	var got *replicate.Error
	if err := target.Upgrade(t.Context()); !errors.As(err, &got) {
		t.Fatalf("Upgrade: %v", err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(replicate.Error{}, "Err")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestStreamDeadCredentials shows that unusable options are nothing to wait for.
func TestStreamDeadCredentials(t *testing.T) {
	t.Parallel()
	d, err := bigquery.NewDataset(t.Context(), config.BigQuery{Project: "my-project", Dataset: "agents"}, bigquery.DatasetOptions{
		Client: []option.ClientOption{option.WithEndpoint("http://127.0.0.1:1"), option.WithoutAuthentication()},
		Write:  []option.ClientOption{option.WithAuthCredentialsFile(option.ServiceAccount, t.TempDir()+"/none.json")},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = d.Target().Open(ctx)
	var got *replicate.Error
	if !errors.As(err, &got) || got.Class != replicate.ClassPermanent || !strings.Contains(got.Remedy, "service account") {
		t.Errorf("Open: %v", err)
	}
}
