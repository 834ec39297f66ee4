// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	bq "cloud.google.com/go/bigquery"
	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// writeProxy is the Storage Write API of an emulator that takes rows with records too: the
// emulator's own reads times inside of records as integers, and records inside of them without
// their names. Rows of tables with a repeated record of records get there by an INSERT with the
// values of the messages; all others by the emulator's own.
type writeProxy struct {
	storagepb.UnimplementedBigQueryWriteServer
	emulator storagepb.BigQueryWriteClient
	client   *bq.Client
}

// proxy starts a writeProxy before the emulator at the addresses and returns its own.
func proxy(t testing.TB, rest, write string) string {
	t.Helper()
	conn, err := grpc.NewClient(write, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{REST: rest}
	client, err := bq.NewClient(context.Background(), Project, s.RESTOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	const most = 20 << 20
	server := grpc.NewServer(grpc.MaxRecvMsgSize(most))
	storagepb.RegisterBigQueryWriteServer(server, &writeProxy{emulator: storagepb.NewBigQueryWriteClient(conn), client: client})
	go func() { _ = server.Serve(l) }() // ends with the server
	t.Cleanup(func() {
		server.Stop()
		_ = conn.Close()
		_ = client.Close()
	})
	return l.Addr().String()
}

// GetWriteStream answers for default streams.
func (p *writeProxy) GetWriteStream(ctx context.Context, req *storagepb.GetWriteStreamRequest) (*storagepb.WriteStream, error) {
	return p.emulator.GetWriteStream(ctx, req)
}

// AppendRows looks at the first request and gives the stream to the emulator, or takes it.
func (p *writeProxy) AppendRows(stream storagepb.BigQueryWrite_AppendRowsServer) error {
	first, err := stream.Recv()
	if err != nil {
		return nil
	}
	parts := strings.Split(first.GetWriteStream(), "/") // projects/p/datasets/d/tables/t/...
	if len(parts) < 6 {
		return status.Errorf(codes.InvalidArgument, "the stream %q", first.GetWriteStream())
	}
	table := p.client.Dataset(parts[3]).Table(parts[5])
	meta, err := table.Metadata(stream.Context())
	if err != nil {
		return status.Error(codes.NotFound, err.Error())
	}
	if !slices.ContainsFunc(meta.Schema, deep) {
		return p.forward(stream, first)
	}
	message, err := messageOf(first.GetProtoRows().GetWriterSchema().GetProtoDescriptor())
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	for req := first; ; {
		if err := p.insert(stream.Context(), parts[3]+"."+parts[5], meta.Schema, message, req.GetProtoRows().GetRows().GetSerializedRows()); err != nil {
			return status.Error(codes.InvalidArgument, err.Error())
		}
		if err := stream.Send(&storagepb.AppendRowsResponse{
			Response: &storagepb.AppendRowsResponse_AppendResult_{AppendResult: &storagepb.AppendRowsResponse_AppendResult{}},
		}); err != nil {
			return err
		}
		if req, err = stream.Recv(); err != nil {
			return nil // the client closes it
		}
	}
}

// deep reports whether a column is a repeated record with times or records in it.
func deep(f *bq.FieldSchema) bool {
	return f.Repeated && slices.ContainsFunc(f.Schema, func(f *bq.FieldSchema) bool { return f.Repeated && f.Type == bq.RecordFieldType })
}

// forward hands a stream to the emulator. Each request names the stream: of one that does not, the
// emulator takes the rows for any table that has a stream.
func (p *writeProxy) forward(stream storagepb.BigQueryWrite_AppendRowsServer, first *storagepb.AppendRowsRequest) error {
	to, err := p.emulator.AppendRows(stream.Context())
	if err != nil {
		return err
	}
	go func() {
		for req, err := first, error(nil); err == nil; req, err = stream.Recv() {
			req.WriteStream = first.GetWriteStream()
			if to.Send(req) != nil {
				break
			}
		}
		_ = to.CloseSend()
	}()
	for {
		resp, err := to.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := stream.Send(resp); err != nil {
			return err
		}
	}
}

func messageOf(dp *descriptorpb.DescriptorProto) (protoreflect.MessageDescriptor, error) {
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("row.proto"), Syntax: proto.String("proto2"), MessageType: []*descriptorpb.DescriptorProto{dp},
	}, nil)
	if err != nil {
		return nil, err
	}
	return file.Messages().Get(0), nil
}

// insert inserts rows by one statement each.
func (p *writeProxy) insert(ctx context.Context, table string, columns bq.Schema, message protoreflect.MessageDescriptor, rows [][]byte) error {
	for _, row := range rows {
		m := dynamicpb.NewMessage(message)
		if err := proto.Unmarshal(row, m); err != nil {
			return err
		}
		var names, values []string
		for _, c := range columns {
			names, values = append(names, c.Name), append(values, column(c, m))
		}
		job, err := p.client.Query(fmt.Sprintf("INSERT INTO `%s.%s` (%s) SELECT %s", Project, table, strings.Join(names, ", "), strings.Join(values, ", "))).Run(ctx)
		if err == nil {
			_, err = job.Wait(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// column returns the value of a column of a message as a literal.
func column(c *bq.FieldSchema, m protoreflect.Message) string {
	f := m.Descriptor().Fields().ByName(protoreflect.Name(c.Name))
	switch {
	case f == nil || f.IsList() && m.Get(f).List().Len() == 0 || !f.IsList() && !m.Has(f):
		return "CAST(NULL AS " + typeOf(c, c.Repeated) + ")"
	case !f.IsList():
		return value(c, m.Get(f))
	}
	var list []string
	for i := range m.Get(f).List().Len() {
		list = append(list, value(c, m.Get(f).List().Get(i)))
	}
	return "[" + strings.Join(list, ", ") + "]"
}

func value(c *bq.FieldSchema, v protoreflect.Value) string {
	switch c.Type {
	case bq.RecordFieldType:
		var fields []string
		for _, f := range c.Schema {
			fields = append(fields, column(f, v.Message())+" AS "+f.Name)
		}
		return "STRUCT(" + strings.Join(fields, ", ") + ")"
	case bq.TimestampFieldType:
		return "TIMESTAMP " + quote(time.UnixMicro(v.Int()).UTC().Format("2006-01-02 15:04:05.999999+00"))
	case bq.DateFieldType:
		return "DATE " + quote(time.Unix(v.Int()*86400, 0).UTC().Format(time.DateOnly))
	case bq.JSONFieldType:
		return "JSON " + quote(v.String())
	case bq.StringFieldType:
		return quote(v.String())
	case bq.FloatFieldType:
		return fmt.Sprintf("CAST(%v AS FLOAT)", v.Float())
	}
	return fmt.Sprint(v.Interface())
}

func typeOf(c *bq.FieldSchema, repeated bool) string {
	name := map[bq.FieldType]string{bq.BooleanFieldType: "BOOL", bq.IntegerFieldType: "INT64", bq.FloatFieldType: "FLOAT"}[c.Type]
	if name == "" {
		name = string(c.Type)
	}
	if c.Type == bq.RecordFieldType {
		var fields []string
		for _, f := range c.Schema {
			fields = append(fields, f.Name+" "+typeOf(f, f.Repeated))
		}
		name = "STRUCT<" + strings.Join(fields, ", ") + ">"
	}
	if repeated {
		return "ARRAY<" + name + ">"
	}
	return name
}

// quote returns s as a literal; JSON escapes what a literal of GoogleSQL does, and in the
// same way, but for characters of HTML.
func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // a string can be encoded
	}
	return strings.TrimSpace(b.String())
}
