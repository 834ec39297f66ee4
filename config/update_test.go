// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config_test

import "flag"

var update = flag.Bool("update", false, "rewrite the golden files and the generated texts")
