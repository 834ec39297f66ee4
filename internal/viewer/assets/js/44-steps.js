// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0
// @ts-check

// What came of a request, step by step, from the record alone. An answer that was sent and is not on
// record yet stands at the end, and nothing is said to have come of it.

/** The look of a step, by its kind and then by the status that it speaks for. @type {Record<string, [IconName, string]>} */
const STEP_LOOKS = {
  asked: ["message", "idle"],
  answered: ["user", "idle"],
  refused: ["rejected", "bad"],
  started: ["arrow", "idle"],
};

/** lookOfStep is the icon and the tone of a step. @param {Progress} p @returns {[IconName, string]} */
function lookOfStep(p) {
  const s = statusInfo(p.status);
  return (p.step !== "answered" || p.status === "pending") && Object.hasOwn(STEP_LOOKS, p.step) ? STEP_LOOKS[p.step] : [s.icon, s.tone];
}

/** ending is how it stands, where the last step does not say it. @param {App} app @param {Approval} a @returns {[IconName, string, Child, Child?]|null} */
function ending(app, a) {
  const sent = app.desk.underWay(a);
  if (sent) return ["arrow", "idle", [sentWord(sent.reply), " was ", h("strong", {}, "sent"), " ", h("span", "passed-at", agoEl(sent.at))], "The record has no word of the gate yet."];
  if (a.status === "drift") return ["drift", "warn", h("strong", {}, "Blocked for good"), "It needs a new request."];
  if (a.status === "rejected") return ["rejected", "stop", h("strong", {}, "It does not run"), "A new plan needs a new request."];
  if (a.status === "expired") return ["expired", "idle", h("strong", {}, "Expired"), "Nothing came of it in time."];
  if (a.status === "superseded") return ["expired", "idle", h("strong", {}, "Superseded"), "The same call was asked for again; answer the later request."];
  if (a.status === "in_doubt") return ["doubt", "doubt", h("strong", {}, "In doubt"), "Look at the system that it acts on, then say what came of it."];
  if (a.execution) return null;
  if (a.status === "safe") return ["clock", "wait", "Approved, and not run yet", "It is checked once more right before it runs."];
  const missing = a.approvers - a.consents.length;
  if (a.consents.length > 0 && missing > 0) return ["clock", "wait", "Waits for " + plural(missing, "more person", "more people")];
  return waits(a.status) ? ["clock", "wait", a.kind === "confirmation" ? "Waits for a yes or a no" : "Waits for a person"] : null;
}

/** stepLine draws what has happened, and how it stands. @param {App} app @param {Approval} a */
function stepLine(app, a) {
  /** @param {IconName} ic @param {string} tone @param {Child} text @param {Child} [more] */
  const line = (ic, tone, text, more) => h("li", { class: "tone-" + tone }, icon(ic), h("div", {}, h("p", {}, text), more && h("p", "passed-more", more)));
  const end = ending(app, a);
  return h("ol", "passed", a.progress.map((p) => {
    // The gate refuses by a code.
    const answer = p.step === "refused" && a.answers.find((x) => x.at === p.at);
    return line(...lookOfStep(p), [pointed(p.text, a), " ", answer && answer.reason && [badge(words(answer.reason), "bad"), " "], h("span", "passed-at", agoEl(p.at))]);
  }), end && line(...end));
}
