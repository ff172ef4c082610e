/** What keys do in `procman dev`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KeyPress } from "../monitor/key-parser.ts";
import { type DevAct, type DevQuestion, pressed, questionText } from "./dev-keys.ts";

const NAMES = ["web", "worker", "mail"];
const IDS = { owners: NAMES, instances: NAMES };

/** Presses keys: characters, or names in braces. Returns what is done, and what is being typed. */
function typed(
  keys: string,
  owners = NAMES,
  instances = owners,
): { readonly acts: readonly DevAct[]; readonly question?: DevQuestion } {
  let question: DevQuestion | undefined;
  const acts: DevAct[] = [];
  for (const [, name, text = ""] of keys.matchAll(/\{(\w+)\}|(.)/g)) {
    const key = (name === undefined ? { name: "text", text } : { name }) as KeyPress;
    const next = pressed(question, key, { owners, instances });
    question = next.question;
    if (next.act !== undefined) acts.push(next.act);
  }
  return { acts, ...(question && { question }) };
}

test("each letter does one thing, others nothing", () => {
  assert.deepEqual(
    typed("ecmq?xR{enter}{interrupt}{suspend}{redraw}{up}").acts.map(({ type }) => type),
    ["errors", "clear", "monitor", "end", "keys", "mark", "end", "suspend", "redraw"],
  );
});

test("r and l ask for processes: by name, by an unambiguous beginning, several, or all", () => {
  assert.deepEqual(typed("rmail{enter}").acts, [{ type: "restart", ids: ["mail"] }]);
  assert.deepEqual(typed("lwo, m{enter}").acts, [{ type: "filter", ids: ["worker", "mail"] }]);
  assert.deepEqual(typed("r{enter}").acts, [{ type: "restart", ids: [] }]);
  assert.deepEqual(typed("rw{enter}").acts, [{ type: "refused", text: '"w" may be web or worker' }]);
  assert.deepEqual(typed("rmial{enter}").acts, [
    { type: "refused", text: 'there is no process "mial". Did you mean "mail"?' },
  ]);
});

test("a process whose id begins another one is meant by its whole id", () => {
  assert.deepEqual(typed("rweb{enter}", ["web", "web-admin"]).acts, [{ type: "restart", ids: ["web"] }]);
});

test("while an answer is typed, letters are letters; Escape leaves it, Ctrl-C still ends all", () => {
  assert.deepEqual(typed("rqec"), { acts: [], question: { about: "restart", typed: "qec" } });
  assert.deepEqual(typed("rqec{escape}"), { acts: [] });
  assert.deepEqual(typed("lwx{backspace}eb"), { acts: [], question: { about: "filter", typed: "web" } });
  assert.deepEqual(typed("lwx{clear}"), { acts: [], question: { about: "filter", typed: "" } });
  assert.deepEqual(typed("rq{interrupt}").acts, [{ type: "end" }]);
  assert.match(questionText({ about: "restart", typed: "we" }, IDS), /^restart: we▏ \(web worker mail; /);
});

test("a single process is restarted, and typed into, without a question which", () => {
  assert.deepEqual(typed("r", ["web"]).acts, [{ type: "restart", ids: ["web"] }]);
  assert.deepEqual(typed("i", ["web"]).acts, [{ type: "input", id: "web" }]);
});

test("i asks for one process", () => {
  assert.deepEqual(typed("imail{enter}"), { acts: [{ type: "input", id: "mail" }] });
  assert.equal(questionText({ about: "input", typed: "ma" }, IDS), "type into: ma▏ (web worker mail; Esc: nothing)");
  for (const several of ["i{enter}", "iweb mail{enter}"])
    assert.deepEqual(typed(several), { acts: [{ type: "refused", text: "input goes to one process: type its name" }] });
});

test("i asks for an instance of a cluster, the other keys for the cluster", () => {
  const instances = ["web-1", "web-2"];
  assert.deepEqual(typed("iweb-2{enter}", ["web"], instances).acts, [{ type: "input", id: "web-2" }]);
  assert.deepEqual(typed("iweb{enter}", ["web"], instances).acts, [
    { type: "refused", text: '"web" may be web-1 or web-2' },
  ]);
  assert.deepEqual(typed("r", ["web"], instances).acts, [{ type: "restart", ids: ["web"] }]);
  assert.match(questionText({ about: "input", typed: "" }, { owners: ["web"], instances }), /\(web-1 web-2; /);
});

test("pasted text is not taken for keys", () => {
  assert.deepEqual(pressed(undefined, { name: "paste", text: "q" }, IDS), {});
});
