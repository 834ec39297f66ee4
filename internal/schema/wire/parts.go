// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// The numbers of the fields of content_parts and of its object_ref, as of the others.
const (
	partMimeType protowire.Number = iota + 1
	partURI
	partObjectRef
	partText
	partIndex
	partAttributes
	partStorageMode
)

const (
	refURI protowire.Number = iota + 1
	refVersion
	refAuthorizer
	refDetails
)

func sizePart(p *schema.Part) int {
	n := sizeString(partMimeType, p.MimeType) + sizeString(partURI, p.URI) + sizeString(partText, p.Text) +
		sizeString(partAttributes, p.Attributes) + sizeString(partStorageMode, p.StorageMode)
	if p.ObjectRef.Valid {
		n += protowire.SizeTag(partObjectRef) + protowire.SizeBytes(sizeRef(&p.ObjectRef))
	}
	if p.Index.Valid {
		n += protowire.SizeTag(partIndex) + protowire.SizeVarint(uint64(p.Index.Int64))
	}
	return n
}

func appendPart(dst []byte, p *schema.Part) []byte {
	dst = appendString(dst, partMimeType, p.MimeType)
	dst = appendString(dst, partURI, p.URI)
	if p.ObjectRef.Valid {
		dst = protowire.AppendTag(dst, partObjectRef, protowire.BytesType)
		dst = protowire.AppendVarint(dst, uint64(sizeRef(&p.ObjectRef)))
		dst = appendRef(dst, &p.ObjectRef)
	}
	dst = appendString(dst, partText, p.Text)
	if p.Index.Valid {
		dst = protowire.AppendTag(dst, partIndex, protowire.VarintType)
		dst = protowire.AppendVarint(dst, uint64(p.Index.Int64))
	}
	dst = appendString(dst, partAttributes, p.Attributes)
	return appendString(dst, partStorageMode, p.StorageMode)
}

func sizeRef(o *schema.ObjectRef) int {
	return sizeString(refURI, o.URI) + sizeString(refVersion, o.Version) + sizeString(refAuthorizer, o.Authorizer) +
		sizeString(refDetails, details(o))
}

func appendRef(dst []byte, o *schema.ObjectRef) []byte {
	dst = appendString(dst, refURI, o.URI)
	dst = appendString(dst, refVersion, o.Version)
	dst = appendString(dst, refAuthorizer, o.Authorizer)
	return appendString(dst, refDetails, details(o))
}

// details returns the JSON text of details, which may be any value but null.
func details(o *schema.ObjectRef) schema.NullString {
	text := view(o.Details)
	return schema.NullString{String: text, Valid: text != "" && text != "null"}
}

func appendString(dst []byte, n protowire.Number, s schema.NullString) []byte {
	if !s.Valid {
		return dst
	}
	return appendText(dst, n, s.String)
}

func sizeString(n protowire.Number, s schema.NullString) int {
	if !s.Valid {
		return 0
	}
	return sizeText(n, s.String)
}
