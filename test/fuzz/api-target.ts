/**
 * Requests to the API of a running procman, by its port: odd bytes, paths, queries, headers and bodies, with tokens of
 * all scopes. Each is answered as documented or its connection closed; service and processes live on, and the memory of
 * the service stays bounded.
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import type { Endpoint } from "../../src/core/contract/records.ts";
import type { Route } from "../../src/core/contract/route.ts";
import { ROUTES } from "../../src/core/contract/routes.ts";
import { payloadOf, SCOPES } from "../../src/core/contract/token-claims.ts";
import { signJwt } from "../../src/core/os/jwt.ts";
import { processStat } from "../../src/core/os/process-stat.ts";
import { eventually, isAlive, type Procman, startProcman } from "../support/procman-process.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import { damaged, type FuzzTarget, oddJson } from "./fuzz-target.ts";

/** All but the one that ends procman. */
const TABLE = (Object.values(ROUTES) as readonly Route[]).filter(({ path }) => path !== "/terminate");
const IDS = ["web", "pair", "pair-1", "all", "job", "..%2f..", "__proto__", "%00", "%zz", "x".repeat(300), "w%65b"];
const QUERIES = [
  "wait=0",
  "wait=1e9",
  "limit=0",
  "limit=5",
  "cursor=0-0",
  "cursor=zz-zz_1-1",
  "from=-1",
  "follow=true",
  "search=a",
  "step=1",
  "order=desc",
];
const HEADERS = [
  ...[
    "Host: localhost",
    "Host: evil.example",
    "Origin: https://evil.example",
    "Expect: 100-continue",
    "Upgrade: websocket",
    "Last-Event-ID: 1-1",
  ],
  ...[
    "Transfer-Encoding: chunked",
    "Content-Encoding: gzip",
    "Accept-Encoding: gzip",
    "Range: bytes=0-1",
    "If-None-Match: *",
    "Cookie: a=b",
  ],
  ...[
    "Content-Length: 5",
    "Content-Type: text/plain",
    "Authorization: Bearer",
    "Authorization: Basic YTpi",
    "Connection: keep-alive",
  ],
];
const BODIES: readonly unknown[] = [
  { text: "hello" },
  { by: 1 },
  { to: 2 },
  { signal: "CONT" },
  { code: "none" },
  { files: [], store: true },
  {
    process: "web",
    memory: { rss: 1, heapTotal: 1, heapUsed: 1, external: 1 },
    cwd: "/",
    sent: "2026-01-01T00:00:00Z",
    metrics: { a: 1 },
  },
];
const WORDS = [
  "\r\n",
  "\r\n\r\n",
  ": ",
  "HTTP/1.1",
  "HTTP/0.9",
  "%00",
  "../",
  "chunked",
  "-1",
  "\u0000",
  "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
];
const TOKENS = ["@admin@", "@read@", "@control@", "@log@", "@telemetry@", "@none@"];
/** Requests of a case, each with its own connection. */
const REQUESTS = 16;
/** An incomplete request gets no answer: the connection is ended after this time. Milliseconds. */
const PATIENCE_MS = 150;
/** Statuses that docs/reference/api.md names. */
const STATUSES = [
  200, 201, 202, 204, 304, 400, 401, 403, 404, 405, 406, 408, 409, 410, 411, 413, 414, 415, 417, 421, 422, 429, 431,
  503, 504,
];
const MAX_RSS_BYTES = 400 * 1_048_576;

function request(random: SeededRandom): Buffer {
  const { method, path } = random.of(TABLE);
  const query = random.next() < 0.4 ? `?${random.of(QUERIES)}&${random.of(QUERIES)}` : "";
  const body =
    random.next() < 0.6
      ? JSON.stringify(random.next() < 0.6 ? oddJson(random.of(BODIES), random) : random.of(BODIES))
      : "";
  const lines = [
    `${random.next() < 0.9 ? method : random.of(["PUT", "OPTIONS", "HEAD", "CONNECT", "TRACE"])} ${path.replace("{id}", random.of(IDS))}${query} HTTP/1.1`,
    ...["Host: localhost", "Connection: close", `Authorization: Bearer ${random.of(TOKENS)}`],
    ...(body === "" ? [] : ["Content-Type: application/json", `Content-Length: ${Buffer.byteLength(body)}`]),
    ...(random.next() < 0.3 ? [random.of(HEADERS)] : []),
  ];
  const bytes = Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body}`);
  return random.next() < 0.5 ? damaged(bytes, random, { words: WORDS }) : bytes;
}

class RunningApi {
  readonly #calls: (() => void | Promise<void>)[] = [];
  #procman: Procman | undefined;
  #endpoint: Endpoint | undefined;
  readonly #tokens = new Map<string, string>();

  async start(): Promise<void> {
    const procman = await startProcman(
      { after: (call) => this.#calls.push(call) },
      [
        { id: "web", cmd: "sleep 100000", autostart: true, restart: "always" },
        { id: "pair", cmd: "sleep 100000", autostart: true, restart: "always", cluster: { instances: 2 } },
        { id: "job", cmd: "true", autostart: false },
      ],
      { args: [`--with-parent=${process.pid}-${processStat(process.pid)?.startTime}`] },
    );
    const file = join(procman.folder, ".procman/procman/endpoint.json");
    this.#endpoint = await eventually(() =>
      existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Endpoint) : undefined,
    );
    this.#procman = procman;
    const secret = readFileSync(join(procman.stateDir, "secret"));
    for (const scope of SCOPES)
      this.#tokens.set(
        `@${scope}@`,
        signJwt(payloadOf({ audience: "procman", consumer: "fuzz", scopes: [scope] }), secret),
      );
    this.#tokens.set("@none@", `${this.#tokens.get("@read@")}x`);
  }

  /** The beginning of the answer; empty: none came. */
  ask(bytes: Buffer, patienceMs = PATIENCE_MS): Promise<string> {
    const text = bytes.toString("latin1").replace(/@[a-z]+@/g, (name) => this.#tokens.get(name) ?? name);
    return new Promise((resolve) => {
      const socket = connect(this.#endpoint?.port ?? 0, "127.0.0.1");
      const timer = setTimeout(() => socket.destroy(), patienceMs);
      let answer = "";
      socket.setEncoding("latin1").on("data", (part: string) => {
        answer += part;
        // A stream goes on.
        if (answer.length > 2_000) socket.destroy();
      });
      // The connection may be closed before everything is written.
      socket.on("error", () => undefined);
      socket.on("close", () => {
        clearTimeout(timer);
        resolve(answer);
      });
      socket.write(text, "latin1");
    });
  }

  check(): void {
    const { pid } = this.#endpoint as Endpoint;
    assert.ok(isAlive(pid), `the service ended; procman printed:\n${this.#procman?.lines.slice(-30).join("\n")}`);
    const rss = Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * 4_096;
    assert.ok(rss < MAX_RSS_BYTES, `the service has ${rss} bytes`);
  }

  async close(): Promise<void> {
    const health = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    try {
      assert.match(await this.ask(Buffer.from(health), 20_000), /^HTTP\/1\.1 200 /);
      this.check();
    } finally {
      for (const call of this.#calls) await call();
    }
  }
}

function checkAnswer(given: string, asked: Buffer): void {
  const answer = given.replace("HTTP/1.1 100 Continue\r\n\r\n", "");
  if (answer === "") return;
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1]);
  const shown = `${answer.slice(0, 600)}\nto ${JSON.stringify(asked.toString("latin1").slice(0, 600))}`;
  assert.ok(
    STATUSES.includes(status) || (status === 500 && !answer.includes('"internal"')),
    `an answer that is not documented: ${shown}`,
  );
}

export async function openApi(): Promise<FuzzTarget> {
  const api = new RunningApi();
  await api.start();
  return {
    input: (random) =>
      Buffer.from(JSON.stringify(Array.from({ length: REQUESTS }, () => request(random).toString("latin1")))),
    check: async (given) => {
      const requests = (JSON.parse(given.toString("utf8")) as readonly string[]).map((text) =>
        Buffer.from(text, "latin1"),
      );
      const answers = await Promise.all(requests.map((bytes) => api.ask(bytes)));
      for (const [index, answer] of answers.entries()) checkAnswer(answer, requests[index] as Buffer);
      api.check();
    },
    close: () => api.close(),
  };
}
