// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package writefake_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/adk-contextgraph/contextgraph/internal/writefake"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

func start(t *testing.T) *writefake.Server {
	t.Helper()
	s, err := writefake.Start(writefake.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// connect opens one connection.
func connect(t *testing.T, s *writefake.Server) storagepb.BigQueryWrite_AppendRowsClient {
	t.Helper()
	conn, err := grpc.NewClient(s.Addr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-goog-request-params", "write_stream=t")
	stream, err := storagepb.NewBigQueryWriteClient(conn).AppendRows(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// row encodes an event_id and a session_id.
func row(id, session string) []byte {
	b := protowire.AppendTag(nil, 1, protowire.BytesType)
	b = protowire.AppendString(b, id)
	b = protowire.AppendTag(b, 2, protowire.BytesType)
	return protowire.AppendString(b, session)
}

// request holds rows; the first of a connection has the rest too.
func request(first bool, rows ...[]byte) *storagepb.AppendRowsRequest {
	data := &storagepb.AppendRowsRequest_ProtoData{Rows: &storagepb.ProtoRows{SerializedRows: rows}}
	req := &storagepb.AppendRowsRequest{Rows: &storagepb.AppendRowsRequest_ProtoRows{ProtoRows: data}}
	if first {
		field := func(number int32, name string) *descriptorpb.FieldDescriptorProto {
			return &descriptorpb.FieldDescriptorProto{
				Name: proto.String(name), Number: proto.Int32(number),
				Label: descriptorpb.FieldDescriptorProto_LABEL_REQUIRED.Enum(),
				Type:  descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(),
			}
		}
		data.WriterSchema = &storagepb.ProtoSchema{ProtoDescriptor: &descriptorpb.DescriptorProto{
			Name: proto.String("Row"), Field: []*descriptorpb.FieldDescriptorProto{field(1, "event_id"), field(2, "session_id")},
		}}
		req.WriteStream, req.TraceId = "t/streams/_default", "trace"
	}
	return req
}

func ids(rows []writefake.Row) (out []string) {
	for _, r := range rows {
		out = append(out, r.EventID)
	}
	return out
}

func TestServerReadsRows(t *testing.T) {
	s := start(t)
	stream := connect(t, s)
	s.Refuse(func(r writefake.Row) string {
		if r.Fields()["session_id"] == "bad" {
			return "words"
		}
		return ""
	})
	steps := []struct {
		rows [][]byte
		bad  []int64
	}{
		{[][]byte{row("1", "s"), row("2", "s")}, nil},
		{[][]byte{row("3", "s"), row("4", "bad"), {0xff}, protowire.AppendString(nil, "x"), row("5", "s")}, []int64{1, 2, 3}},
		{[][]byte{protowire.AppendVarint(protowire.AppendTag(row("6", "s"), 9, protowire.VarintType), 1)}, []int64{0}},
		{[][]byte{row("7", "s")}, nil},
	}
	for i, step := range steps {
		if err := stream.Send(request(i == 0, step.rows...)); err != nil {
			t.Fatal(err)
		}
		resp, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		var bad []int64
		for _, r := range resp.GetRowErrors() {
			bad = append(bad, r.GetIndex())
		}
		if diff := cmp.Diff(step.bad, bad); diff != "" || (resp.GetError() != nil) != (bad != nil) {
			t.Errorf("request %d: bad rows (-want +got):\n%s%v", i, diff, resp.GetError())
		}
	}
	if diff := cmp.Diff([]string{"1", "2", "7"}, ids(s.Rows())); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"1", "2", "3", "4", "5", "7"}, ids(s.Arrived())); diff != "" {
		t.Errorf("arrived (-want +got):\n%s", diff)
	}
	if got := s.Rows()[1].Fields(); !cmp.Equal(got, map[string]any{"event_id": "2", "session_id": "s"}) {
		t.Errorf("row 2 is %v", got)
	}
	want := []writefake.Connection{{Routing: []string{"write_stream=t"}, Stream: "t/streams/_default", TraceID: "trace", Schemas: 1, Requests: 4}}
	if diff := cmp.Diff(want, s.Connections()); diff != "" {
		t.Errorf("connections (-want +got):\n%s", diff)
	}
}

// TestServerEndsStreams has what ends a connection, and shows that the rows of the
// request are not in the table.
func TestServerEndsStreams(t *testing.T) {
	withoutSchema, withoutStream, withOffset := request(true, row("1", "s")), request(true, row("1", "s")), request(true, row("1", "s"))
	withoutSchema.GetProtoRows().WriterSchema = nil
	withoutStream.WriteStream = ""
	withOffset.Offset = wrapperspb.Int64(1)
	tests := []struct {
		name   string
		req    *storagepb.AppendRowsRequest
		answer writefake.Answer
		code   codes.Code
		words  string
	}{
		{"no schema", withoutSchema, writefake.Answer{}, codes.InvalidArgument, "writer_schema"},
		{"no stream", withoutStream, writefake.Answer{}, codes.InvalidArgument, "write_stream"},
		{"offset", withOffset, writefake.Answer{}, codes.InvalidArgument, "offset"},
		{"too large", request(true, row(strings.Repeat("x", 10_485_760), "s")), writefake.Answer{}, codes.InvalidArgument, "AppendRows request too large"},
		{"told to", request(true, row("1", "s")), writefake.EndBefore(writefake.TableNotFound("t")), codes.NotFound, "t"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t)
			s.Script(tt.answer)
			stream := connect(t, s)
			if err := stream.Send(tt.req); err != nil {
				t.Fatal(err)
			}
			_, err := stream.Recv()
			if status.Code(err) != tt.code || !strings.Contains(err.Error(), tt.words) {
				t.Errorf("%v, want %v with %q", err, tt.code, tt.words)
			}
			if n := s.Distinct(); n != 0 {
				t.Errorf("%d rows in the table", n)
			}
		})
	}
}

func TestServerLacksColumn(t *testing.T) {
	s := start(t)
	s.SetColumns("event_id")
	stream := connect(t, s)
	if err := stream.Send(request(true, row("1", "s"))); err != nil {
		t.Fatal(err)
	}
	_, err := stream.Recv()
	var code storagepb.StorageError_StorageErrorCode
	for _, d := range status.Convert(err).Details() {
		if d, ok := d.(*storagepb.StorageError); ok {
			code = d.GetCode()
		}
	}
	if code != storagepb.StorageError_SCHEMA_MISMATCH_EXTRA_FIELDS || !strings.Contains(err.Error(), "'session_id'") {
		t.Errorf("%v with code %v", err, code)
	}
	s.SetColumns("event_id", "session_id")
	stream = connect(t, s)
	if err := stream.Send(request(true, row("1", "s"))); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Error(err)
	}
}

// TestServerAnswersInPlace sends three requests at once, of which the first has an
// answer of its own. It shows which answers come, and what is in the table.
func TestServerAnswersInPlace(t *testing.T) {
	tests := []struct {
		name    string
		first   writefake.Answer
		second  writefake.Answer
		answers []bool // of those that come: success
		end     error  // of the stream; nil when it goes on
		table   []string
	}{
		{"late", writefake.Answer{Delay: 1}, writefake.Answer{}, []bool{true, true, true}, nil, []string{"1", "2", "3"}},
		{"error", writefake.Failed(codes.Internal, "x"), writefake.Answer{}, []bool{false, true, true}, nil, []string{"2", "3"}},
		{"swapped", writefake.Answer{Swapped: true}, writefake.Answer{}, []bool{true, true, true}, nil, []string{"1", "2", "3"}},
		{"missing", writefake.Answer{Missing: true}, writefake.Answer{}, []bool{true, true}, nil, []string{"1", "2", "3"}},
		{"swapped with an error", writefake.Answer{Swapped: true}, writefake.Failed(codes.Internal, "x"), []bool{true, false, true}, nil, []string{"1", "3"}},
		{"missing before an error", writefake.Answer{Missing: true}, writefake.Failed(codes.Internal, "x"), nil, status.Error(codes.Unavailable, ""), []string{"1"}},
		{"silent", writefake.Answer{Silent: true}, writefake.Answer{}, nil, nil, []string{"1"}},
		{"silent before", writefake.Answer{Silent: true, NotApplied: true}, writefake.Answer{}, nil, nil, nil},
		{"end before", writefake.EndBefore(nil), writefake.Answer{}, nil, io.EOF, nil},
		{"end after", writefake.EndAfter(nil), writefake.Answer{}, nil, io.EOF, []string{"1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t)
			s.Script(tt.first, tt.second)
			stream := connect(t, s)
			for i, id := range []string{"1", "2", "3"} {
				if err := stream.Send(request(i == 0, row(id, "s"))); err != nil && tt.end == nil {
					t.Fatal(err)
				}
			}
			if err := stream.CloseSend(); err != nil {
				t.Fatal(err)
			}
			var answers []bool
			var end error
			for end == nil {
				var resp *storagepb.AppendRowsResponse
				if resp, end = stream.Recv(); end == nil {
					answers = append(answers, resp.GetError() == nil)
				}
			}
			if diff := cmp.Diff(tt.answers, answers); diff != "" || errors.Is(end, io.EOF) == (status.Code(tt.end) == codes.Unavailable) {
				t.Errorf("answers (-want +got):\n%s%v", diff, end)
			}
			if diff := cmp.Diff(tt.table, ids(s.Rows())); diff != "" {
				t.Errorf("table (-want +got):\n%s", diff)
			}
		})
	}
}
