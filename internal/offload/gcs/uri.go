// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gcs

import (
	"errors"
	"fmt"
	"strings"

	"github.com/adk-contextgraph/contextgraph/internal/offload"
)

const scheme = "gs://"

// parse splits a URI such as gs://bucket/prefix. The prefix may be empty and has no
// slash at its end.
func parse(uri string) (bucket, prefix string, err error) {
	rest, ok := strings.CutPrefix(uri, scheme)
	if !ok {
		return "", "", errors.New("not a Cloud Storage URI: write gs://bucket/prefix")
	}
	bucket, prefix, _ = strings.Cut(rest, "/")
	if err := checkBucket(bucket); err != nil {
		return "", "", err
	}
	if strings.ContainsAny(rest, "?#") {
		return "", "", errors.New("'?' and '#' have no meaning here: write gs://bucket/prefix and nothing after it")
	}
	prefix = strings.TrimSuffix(prefix, "/")
	if prefix == "" {
		return bucket, "", nil
	}
	if err := offload.CheckName(prefix); err != nil {
		return "", "", fmt.Errorf("prefix: %w", err)
	}
	return bucket, prefix, nil
}

// checkBucket checks what Cloud Storage requires of the names of buckets, except for
// the reserved ones.
func checkBucket(bucket string) error {
	if bucket == "" {
		return errors.New("no bucket: write gs://bucket/prefix")
	}
	dotted := strings.Contains(bucket, ".")
	if n := len(bucket); n < 3 || n > 222 || (n > 63 && !dotted) {
		return fmt.Errorf("bucket %q: a bucket's name has 3 to 63 characters, with dots up to 222: use the name of an existing bucket", bucket)
	}
	for i, r := range bucket {
		inner := i > 0 && i < len(bucket)-1
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
		case inner && (r == '-' || r == '_' || r == '.'):
		default:
			return fmt.Errorf("bucket %q: %q at position %d: a bucket's name consists of a-z, 0-9, '-', '_' and '.', and begins and ends with a letter or digit", bucket, r, i+1)
		}
	}
	return nil
}
