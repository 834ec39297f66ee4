// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package globals lists what the packages of a program registered in the
// process-wide registries of Go, protobuf and OpenTelemetry.
package globals

import (
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"slices"

	"go.opentelemetry.io/otel"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Registered is what a program's packages registered.
type Registered struct {
	Flags      []string
	SQLDrivers []string
	ProtoFiles []string
	// Tracers and Meters are the Go types of the global OpenTelemetry providers.
	Tracers string
	Meters  string
}

// Write writes what this process has registered to w, as JSON.
func Write(w io.Writer) error {
	r := Registered{
		SQLDrivers: sql.Drivers(),
		Tracers:    fmt.Sprintf("%T", otel.GetTracerProvider()),
		Meters:     fmt.Sprintf("%T", otel.GetMeterProvider()),
	}
	flag.VisitAll(func(f *flag.Flag) { r.Flags = append(r.Flags, f.Name) })
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		r.ProtoFiles = append(r.ProtoFiles, f.Path())
		return true
	})
	slices.Sort(r.ProtoFiles)
	return json.NewEncoder(w).Encode(r)
}
