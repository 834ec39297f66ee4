// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package gcs keeps parts in a Cloud Storage bucket.
//
// The account needs the permission storage.objects.create on the bucket and nothing
// else, which roles/storage.objectCreator gives: nothing is read, listed, overwritten
// or deleted. Who may read the objects, and when they are deleted, is decided by the
// bucket's IAM policy and lifecycle rules.
package gcs

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"strings"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
	"google.golang.org/api/storage/v1"

	"github.com/adk-contextgraph/contextgraph/internal/offload"
)

// chunkSize is the size of the largest part that is sent in one request, straight
// from its memory. The client buffers a larger part by chunks of this size, so that a
// connection that breaks costs one chunk.
const chunkSize = 8 << 20

// scheme begins the URI of a bucket.
const scheme = "gs://"

// defaultContentType is the content type of an object without one.
const defaultContentType = "application/octet-stream"

// Store is an [offload.Store] in a bucket. Its methods may be called concurrently.
type Store struct {
	objects *storage.ObjectsService
	bucket  string
	prefix  string // of every object, with a slash at its end unless empty
}

// Open returns the Store for uri, gs://bucket or gs://bucket/prefix, which package config has checked. It finds
// credentials as every Google Cloud client does, see
// https://cloud.google.com/docs/authentication/application-default-credentials, or
// takes them from opts. It does not ask the bucket whether it exists: that needs more
// permissions than writing to it.
func Open(ctx context.Context, uri string, opts ...option.ClientOption) (*Store, error) {
	bucket, prefix, _ := strings.Cut(strings.TrimPrefix(uri, scheme), "/")
	if prefix = strings.TrimSuffix(prefix, "/"); prefix != "" {
		if err := offload.CheckName(prefix); err != nil {
			return nil, fmt.Errorf("offload/gcs: %q: prefix: %w", uri, err)
		}
		prefix += "/"
	}
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("offload/gcs: %q: %w", uri, err)
	}
	// Uploads happen after a run and are no part of its trace. The client keeps its
	// context to fetch credentials later, when ctx has ended.
	opts = append([]option.ClientOption{option.WithTelemetryDisabled(), option.WithScopes(storage.DevstorageReadWriteScope)}, opts...)
	service, err := storage.NewService(context.WithoutCancel(ctx), opts...)
	if err != nil {
		return nil, fmt.Errorf("offload/gcs: %q: %w: check the credentials, for example with gcloud auth application-default login", uri, err)
	}
	return &Store{objects: service.Objects, bucket: bucket, prefix: prefix}, nil
}

// URI returns the gs:// URI of the part, which is not percent-encoded.
func (s *Store) URI(name string) string {
	return scheme + s.bucket + "/" + s.prefix + name
}

// Close does nothing and returns nil: idle connections end by themselves.
func (s *Store) Close() error { return nil }

// Create uploads data as a new object. A part of up to 8 MiB is one request and one
// attempt: the [offload.Uploader] repeats it. Of a larger one the client repeats each
// chunk for up to 32 seconds, unless ctx ends before. The object is whole or absent:
// its checksum travels with it.
func (s *Store) Create(ctx context.Context, name, contentType string, data []byte) error {
	object := s.prefix + name
	if err := offload.CheckName(object); err != nil {
		return offload.Permanent(fmt.Errorf("offload/gcs: %w", err))
	}
	if contentType == "" {
		contentType = defaultContentType
	}
	if err := s.upload(ctx, object, contentType, data); err != nil {
		return s.explain(name, err)
	}
	return nil
}

func (s *Store) upload(ctx context.Context, object, contentType string, data []byte) error {
	size := 0 // one request
	if len(data) > chunkSize {
		size = chunkSize
	}
	m := newMedia(data)
	defer m.release()
	_, err := s.objects.Insert(s.bucket, &storage.Object{Name: object, ContentType: contentType, Crc32c: checksum(data)}).
		IfGenerationMatch(0).
		Media(m, googleapi.ContentType(contentType), googleapi.ChunkSize(size)).
		Context(ctx).
		Do()
	return err
}

// checksum returns the CRC32C of data in the form that object metadata has it.
func checksum(data []byte) string {
	sum := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}

// explain adds to err the part, the remedy, and whether another try may help.
func (s *Store) explain(name string, err error) error {
	var status *googleapi.Error
	if !errors.As(err, &status) {
		return fmt.Errorf("offload/gcs: %s: %w", s.URI(name), err)
	}
	remedy := ""
	switch code := status.Code; {
	case code == http.StatusPreconditionFailed:
		return fmt.Errorf("offload/gcs: %s: %w", s.URI(name), offload.ErrExists)
	case code == http.StatusRequestTimeout, code == http.StatusTooManyRequests, code >= http.StatusInternalServerError:
		return fmt.Errorf("offload/gcs: %s: %w", s.URI(name), err)
	case code == http.StatusForbidden:
		remedy = "give the account roles/storage.objectCreator on it"
	case code == http.StatusUnauthorized:
		remedy = "renew the credentials, for example with gcloud auth application-default login"
	case code == http.StatusNotFound:
		remedy = "create it, or correct its name"
	default:
		remedy = "check its configuration"
	}
	return offload.Permanent(fmt.Errorf("offload/gcs: %s: bucket %q does not take it: %s: %w", s.URI(name), s.bucket, remedy, err))
}
