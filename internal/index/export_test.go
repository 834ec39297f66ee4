// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/binary"
	"hash/crc32"
)

// Encode and Decode are encode and decode.
func Encode(x Index, id string) string          { return string(encode(x, id)) }
func Decode(data, id string) (x Index, ok bool) { return decode(data, id) }

// Least is the length of the shortest entry.
const Least = least

// Sum returns data with its checksum in the place of the last bytes.
func Sum(data string) string {
	body := []byte(data[:max(0, len(data)-4)])
	return string(binary.LittleEndian.AppendUint32(body, crc32.ChecksumIEEE(body)))
}
