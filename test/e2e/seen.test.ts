/** `procman why`, events in a program, and streams that continue after a kill of the service. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { EventParser, type ServerSentEvent } from "../../src/client/sse-parser.ts";
import type { Endpoint, ProcessRecord } from "../../src/core/contract/records.ts";
import type { Incident } from "../../src/core/contract/run-summary.ts";
import { payloadOf } from "../../src/core/contract/token-claims.ts";
import { signJwt } from "../../src/core/os/jwt.ts";
import { procman as command } from "../support/cli.ts";
import { eventually, type Procman, processExit, startProcman } from "../support/procman-process.ts";
import { library } from "../support/product.ts";

const { Procman: Library } = await library();
const CRASHING = {
  id: "crash",
  cmd: "echo one; echo last words; sleep 0.1; exit 3",
  autostart: true,
  restartLimit: 1,
  restartDelayMs: 50,
};
const SLEEPER = { id: "web", cmd: "sleep 1000", autostart: true };

async function killService(procman: Procman): Promise<void> {
  const service = procman.helper("service");
  process.kill(service, "SIGKILL");
  await processExit(service);
}

/** The address of the current service. */
function endpoint(procman: Procman): Promise<Endpoint> {
  return eventually(() => {
    try {
      const at = JSON.parse(readFileSync(join(procman.stateDir, "endpoint.json"), "utf8")) as Endpoint;
      return at.pid === procman.helper("service") ? at : undefined;
    } catch {
      return undefined;
    }
  });
}

/** Events of a new connection, until `isLast` is true for one. */
async function events(
  procman: Procman,
  last: string | undefined,
  isLast: (event: ServerSentEvent) => boolean,
): Promise<readonly ServerSentEvent[]> {
  const { hostname, port } = await endpoint(procman);
  const secret = readFileSync(join(procman.stateDir, "secret"));
  const token = signJwt(payloadOf({ audience: "procman", consumer: "test", scopes: ["admin"] }), secret);
  const stop = new AbortController();
  const headers = { authorization: `Bearer ${token}`, ...(last === undefined ? {} : { "last-event-id": last }) };
  const response = await fetch(`http://${hostname}:${port}/events`, {
    headers,
    signal: AbortSignal.any([stop.signal, AbortSignal.timeout(30_000)]),
  });
  const parser = new EventParser();
  const seen: ServerSentEvent[] = [];
  for await (const chunk of response.body as ReadableStream<Uint8Array>) {
    seen.push(...parser.read(chunk));
    if (seen.some(isLast)) break;
  }
  stop.abort();
  return seen;
}

/** The output of `procman why` once it has `count` ends. */
async function why(
  folder: string,
  id: string,
  ends: number,
): Promise<{ readonly process: ProcessRecord; readonly incidents: readonly Incident[] }> {
  for (const end = performance.now() + 30_000; performance.now() < end; ) {
    const { code, out } = await command(folder, ["why", id, "--json"]);
    if (code === 0 && JSON.parse(out).incidents.length >= ends) return JSON.parse(out);
  }
  throw new Error(`timed out waiting for ${ends} ends of ${id}`);
}

test("why shows the end of a run: its cause, what followed, its last lines, and the requester", async (context) => {
  const procman = await startProcman(context, [CRASHING, SLEEPER]);
  await procman.line(/crash +\| .*its one restart is used up/);
  const { process: crash, incidents } = await why(procman.folder, "crash", 2);
  assert.equal(crash.status, "exhausted");
  assert.deepEqual(
    incidents.map(({ run, cause, code, decision }) => [run, cause, code, decision]),
    [
      [2, "exit", 3, "none: its one restart is used up"],
      [1, "exit", 3, "restart 1 of 1 in 50 ms"],
    ],
  );
  assert.deepEqual(
    incidents[0]?.lines.map(({ text }) => text),
    ["one", "last words"],
  );
  const text = (await command(procman.folder, ["why", "crash"])).out;
  for (const part of [/exhausted/, /exited with code 3/, /last words/]) assert.match(text, part);
  assert.equal((await command(procman.folder, ["stop", "web"])).code, 0);
  const [stopped] = (await why(procman.folder, "web", 1)).incidents;
  assert.deepEqual(
    [stopped?.cause, stopped?.decision, typeof stopped?.by],
    ["operator", "none: it was stopped", "string"],
  );
  const unknown = await command(procman.folder, ["why", "wbe"]);
  assert.equal(unknown.code, 1);
  assert.match(unknown.err, /no process has this id\. Did you mean "web"/);
});

test("6 a program gets events by their type, also over a killed service, until procman has ended", async (context) => {
  const procman = await startProcman(context, [SLEEPER]);
  await procman.line(/web +\| started/);
  await endpoint(procman);
  const library = await Library.connect(join(procman.folder, "procman.json"));
  context.after(() => library.close());
  const received: string[] = [];
  library.on("process.state", ({ process }) => received.push(`${process.id} ${process.status}`));
  library.on("process.incident", ({ incident }) => received.push(`incident ${incident.cause} ${incident.by}`));
  library.on("service.state", ({ state }) => received.push(`service ${state.status}`));
  const silent = (): void => assert.fail("the listener was removed");
  library.on("process.state", silent).off("process.state", silent);
  const ended = new Promise<void>((resolve) => library.on("end", () => resolve()));
  const waitForEvent = (what: string, from = 0): Promise<true> =>
    eventually(() => received.slice(from).includes(what) || undefined);
  // The listener is connected later: repeated until it gets the event.
  await library.restart("web");
  while (!received.includes("web running")) await library.restart("web");
  await waitForEvent("incident operator library");
  const before = received.length;
  await killService(procman);
  await endpoint(procman);
  await library.stop("web");
  await waitForEvent("web stopped", before);
  assert.equal(await procman.stop(), 0);
  await ended;
});

test("6 a client that resumes with its last event id misses no event of the new service, and gets the state first", async (context) => {
  const procman = await startProcman(context, [SLEEPER]);
  await procman.line(/web +\| started/);
  const first = await events(procman, "1", ({ type }) => type === "service.state");
  const last = first.at(-1)?.id ?? "";
  assert.match(last, /^\d+$/);
  await killService(procman);
  await endpoint(procman);
  assert.equal((await command(procman.folder, ["stop", "web"])).code, 0);
  const stopped = ({ type, data }: ServerSentEvent): boolean =>
    type === "process.state" && JSON.parse(data).process.status === "stopped";
  const missed = await events(procman, last, stopped);
  assert.equal(missed[0]?.type, "service.state");
  const ids = missed.map(({ id }) => Number(id));
  assert.ok(
    ids.every((id, index) => id > (ids[index - 1] ?? Number(last) - 1)),
    `${last}: ${ids}`,
  );
  const again = await events(procman, missed.at(-2)?.id, stopped);
  assert.deepEqual(again, missed.slice(-1), "events already seen are not repeated");
});
