// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/adk-contextgraph/contextgraph/internal/replicate"
)

// failed says what went wrong with a table, of what class it is and what to do about
// it.
func failed(what, table string, err error) error {
	class, remedy := classify(table, err)
	return &replicate.Error{Class: class, Remedy: remedy, Err: fmt.Errorf("bigquery: %s to %s: %w", what, table, err)}
}

// refused is the error of a request whose rows the service names as bad.
func refused(table string, err error, rows []*storagepb.RowError) error {
	if err == nil {
		err = errors.New("the service refuses rows")
	}
	out := &replicate.Error{Class: replicate.ClassRows, Err: fmt.Errorf("bigquery: append to %s: %w", table, err)}
	for _, r := range rows {
		out.Rows = append(out.Rows, replicate.RowError{Index: int(r.GetIndex()), Code: r.GetCode().String(), Message: r.GetMessage()})
	}
	return out
}

// classify says what can be done about err.
func classify(table string, err error) (class replicate.Class, remedy string) {
	var start *startError
	switch {
	case errors.Is(err, errStreamClosed), errors.Is(err, io.EOF),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		// The end of a stream says nothing of the requests that were on it. Servers end
		// streams all the time: idle ones, and those of machines that go away.
		return replicate.ClassAmbiguous, ""
	case errors.As(err, &start):
		return replicate.ClassPermanent, remedyCredentials
	}
	s, ok := status.FromError(err)
	if !ok {
		return replicate.ClassAmbiguous, ""
	}
	d := detailsOf(s)
	if class, remedy, ok := ofStorage(d.storage, table); ok {
		return class, remedy
	}
	return ofCode(s, d, table)
}

// details are what the service says of an error beside its status.
type details struct {
	storage storagepb.StorageError_StorageErrorCode // of the Storage API
	reason  string                                  // of Google's APIs in general
	limit   string                                  // the quota that is used up
}

func detailsOf(s *status.Status) (out details) {
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *storagepb.StorageError:
			out.storage = d.GetCode()
		case *errdetails.ErrorInfo:
			out.reason, out.limit = d.GetReason(), d.GetMetadata()["quota_limit"]
		}
	}
	return out
}

// ofStorage classifies the codes of the Storage API that say more than the status:
// https://cloud.google.com/bigquery/docs/reference/storage/rpc/google.cloud.bigquery.storage.v1#storageerror.
func ofStorage(code storagepb.StorageError_StorageErrorCode, table string) (class replicate.Class, remedy string, ok bool) {
	switch code {
	case storagepb.StorageError_TABLE_NOT_FOUND, storagepb.StorageError_STREAM_NOT_FOUND:
		return replicate.ClassNotFound, remedyTable(table), true
	case storagepb.StorageError_SCHEMA_MISMATCH_EXTRA_FIELDS:
		return replicate.ClassSchema, remedySchema, true
	case storagepb.StorageError_KMS_SERVICE_ERROR:
		return replicate.ClassTransient, "", true
	case storagepb.StorageError_CMEK_NOT_PROVIDED, storagepb.StorageError_INVALID_CMEK_PROVIDED,
		storagepb.StorageError_CMEK_ENCRYPTION_ERROR, storagepb.StorageError_KMS_PERMISSION_DENIED:
		return replicate.ClassPermanent, remedyKey, true
	}
	return 0, "", false
}

// ofCode classifies what has no code of the Storage API.
func ofCode(s *status.Status, d details, table string) (class replicate.Class, remedy string) {
	switch words := s.Message(); s.Code() {
	case codes.Canceled, codes.DeadlineExceeded, codes.Internal, codes.Unknown, codes.DataLoss:
		return replicate.ClassAmbiguous, ""
	case codes.Unavailable, codes.Aborted:
		// An overloaded server, or one that goes away: "the connection is draining".
		return replicate.ClassTransient, ""
	case codes.FailedPrecondition:
		// The client libraries of Google try these again.
		return replicate.ClassTransient, ""
	case codes.ResourceExhausted:
		return replicate.ClassExhausted, remedyQuota(d.limit, words)
	case codes.NotFound:
		return replicate.ClassNotFound, remedyTable(table)
	case codes.InvalidArgument:
		switch {
		case strings.Contains(words, "request too large"):
			return replicate.ClassTooLarge, ""
		case strings.Contains(words, "more fields than BigQuery schema"):
			return replicate.ClassSchema, remedySchema
		}
		return replicate.ClassRows, ""
	case codes.Unauthenticated:
		if strings.Contains(words, "per-RPC creds failed") && !revoked(words) {
			// The token could not be fetched: the network, as a rule.
			return replicate.ClassTransient, remedyCredentials
		}
		return replicate.ClassPermanent, remedyCredentials
	case codes.PermissionDenied:
		return replicate.ClassPermanent, remedyPermission(table, d.reason)
	case codes.Unimplemented:
		return replicate.ClassPermanent, "check the endpoint: it has no Storage Write API"
	}
	return replicate.ClassPermanent, ""
}

// revoked reports whether a token could not be fetched because the credentials are no
// longer good, in the words of https://datatracker.ietf.org/doc/html/rfc6749#section-5.2.
func revoked(words string) bool {
	return strings.Contains(words, "invalid_grant") || strings.Contains(words, "invalid_client") || strings.Contains(words, "unauthorized_client")
}

const (
	remedyCredentials = "give the program credentials of a Google account: run it with a service account, or use \"gcloud auth application-default login\" on a machine of a developer"
	remedySchema      = "run \"contextgraph init\", which adds the columns that the table lacks"
	remedyKey         = "give the BigQuery service account of the project the role roles/cloudkms.cryptoKeyEncrypterDecrypter on the key of the table"
)

// remedyQuota names the quota that is used up: by its limit, where the service says it, else by
// the words. For throughput those are known, for connections they are not documented.
func remedyQuota(limit, words string) string {
	connections := "connections (ConcurrentWriteConnectionsPerProject…), which counts in the project of the program's service account: " +
		"run fewer processes with a journal at a time, or give some of them a service account of another project"
	throughput := "throughput (AppendBytesThroughputPerProject…), which counts in the project of the dataset: " +
		"record less, or stream to a dataset of another project or region"
	switch words = strings.ToLower(words); {
	case strings.HasPrefix(limit, "ConcurrentWriteConnections"), limit == "" && strings.Contains(words, "connections"):
		return "if it goes on, ask for more of the BigQuery Storage quota of " + connections
	case strings.HasPrefix(limit, "AppendBytesThroughput"), limit == "" && strings.Contains(words, "throughput"):
		return "if it goes on, ask for more of the BigQuery Storage quota of " + throughput
	case limit != "":
		return "if it goes on, ask for more of the quota " + limit
	}
	return "if it goes on, look which BigQuery Storage quota is used up. It is that of " + connections + "; or that of " + throughput
}

func remedyTable(table string) string {
	return "if the table was not created a moment ago, create it with \"contextgraph init\": " + table
}

func remedyPermission(table, reason string) string {
	switch reason {
	case "SERVICE_DISABLED":
		return "enable the API in the project: gcloud services enable bigquerystorage.googleapis.com"
	case "BILLING_DISABLED":
		return "enable billing in the project"
	}
	// PERMISSION_DENIED is also what is said of a dataset that does not exist.
	return "give the account of the program the role roles/bigquery.dataEditor (permission bigquery.tables.updateData) on " +
		table + ", and see that the dataset exists: \"contextgraph init\" creates it"
}
