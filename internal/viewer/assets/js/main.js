// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

readPage().then((page) => new App(page).start()).catch((err) => {
  console.error(err);
  replace(byId("cg-main"), empty("error", "This page cannot be shown", said(err)));
});
