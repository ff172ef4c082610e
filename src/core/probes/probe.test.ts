import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Probe, ReadyProbe } from "../contract/probe-spec.ts";
import { Health } from "./health.ts";
import { ask } from "./probe.ts";
import { Readiness } from "./readiness.ts";
import { isToItself } from "./socket-probe.ts";

const execContext = { cwd: tmpdir(), env: process.env, argv: (line: string) => ["/bin/sh", "-c", line] };

/** The reported problem; undefined: success. */
function verdict(probe: Probe, timeoutMs = 5_000): Promise<string | undefined> {
  return new Promise((resolve) => ask(probe, { timeoutMs, context: execContext }, resolve));
}

async function listening(context: TestContext, server: Server, host = "127.0.0.1"): Promise<number> {
  server.listen(0, host);
  await once(server, "listening");
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket));
  context.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const http = (port: number, path = "/"): Probe => ({ kind: "http", hostname: "localhost", port, path });
const answering = (listener: RequestListener) => createHttpServer(listener);

test("a port that accepts succeeds, one without a listener fails", async (context) => {
  const server = createServer();
  const port = await listening(context, server);
  assert.equal(await verdict({ kind: "port", port }), undefined);
  server.close();
  await once(server, "close");
  assert.equal(await verdict({ kind: "port", port }), `127.0.0.1:${port} refuses connections`);
});

test("a socket connected to itself is detected, since nothing listens there", async (context) => {
  const server = createServer();
  const port = await listening(context, server);
  const other = connect({ host: "127.0.0.1", port });
  await once(other, "connect");
  assert.equal(isToItself(other), false);
  other.destroy();
  server.close();
  await once(server, "close");
  const own = connect({ host: "127.0.0.1", port, localPort: port });
  context.after(() => own.destroy());
  await once(own, "connect");
  assert.equal(isToItself(own), true);
});

test("a server that listens only on IPv6 is found", async (context) => {
  const port = await listening(context, createServer(), "::1");
  assert.equal(await verdict({ kind: "port", port }), undefined);
});

test("a status from 200 to 399 succeeds, any other is reported, and the request is complete", async (context) => {
  const seen: string[] = [];
  const port = await listening(
    context,
    answering(({ method, url, headers }, response) => {
      seen.push(`${method} ${url} ${headers.host?.replace(/\d+/, "N")} ${headers.connection}`);
      response.writeHead(Number(url?.slice(1, 4))).end("x".repeat(100_000));
    }),
  );
  assert.equal(await verdict(http(port, "/200?a=1")), undefined);
  assert.equal(await verdict(http(port, "/302")), undefined);
  assert.equal(await verdict(http(port, "/503")), "answers with status 503");
  assert.deepEqual(seen[0], "GET /200?a=1 localhost:N close");
});

test("a server that accepts but doesn't answer, closes, or doesn't speak HTTP fails the probe", async (context) => {
  const silent = await listening(context, createServer());
  assert.equal(await verdict(http(silent), 100), "has not answered within 0.1 s");
  const short = await listening(
    context,
    createServer((socket) => socket.once("data", () => socket.end())),
  );
  assert.equal(await verdict(http(short)), "closes the connection without an answer");
  const other = await listening(
    context,
    createServer((socket) => socket.end("SSH-2.0-OpenSSH_9.2p1\r\n")),
  );
  assert.equal(await verdict(http(other)), "does not answer with HTTP");
});

test("a command succeeds with code 0, otherwise its last output is reported", async () => {
  assert.equal(await verdict({ kind: "exec", line: "true" }), undefined);
  assert.equal(
    await verdict({ kind: "exec", line: "echo one; echo no disk >&2; exit 3" }),
    "its check ends with code 3: no disk",
  );
  assert.match((await verdict({ kind: "exec", line: "kill -9 $$" })) ?? "", /^its check was killed by SIGKILL/);
});

test("a command that takes too long is killed with all processes it has started", async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "probes-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "pid");
  assert.equal(
    await verdict({ kind: "exec", line: `sleep 1000 & echo $! > ${file}; wait` }, 500),
    "has not answered within 0.5 s",
  );
  const pid = Number(readFileSync(file, "utf8"));
  assert.ok(pid > 1);
  for (const end = Date.now() + 10_000; isRunning(pid); await new Promise((resolve) => setTimeout(resolve, 10)))
    assert.ok(Date.now() < end);
});

function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}

test("a cancelled probe never reports a result", async (context) => {
  const port = await listening(context, createServer());
  const cancel = ask(http(port), { timeoutMs: 50, context: execContext }, () => assert.fail("answered"));
  cancel();
  await new Promise((resolve) => setTimeout(resolve, 100));
});

/** Resolves with the reasons of waiting until the run was ready. */
function ready(
  context: TestContext,
  probe: ReadyProbe,
  more: { file?: string; lines?: readonly string[]; objection?: () => string | undefined } = {},
): Promise<readonly string[]> {
  const waited: string[] = [];
  const lines = async function* (signal: AbortSignal): AsyncGenerator<string> {
    yield* more.lines ?? [];
    await once(signal, "abort");
  };
  return new Promise((resolve) => {
    const { objection = () => undefined } = more;
    const options = {
      probe,
      timeoutMs: 5_000,
      context: execContext,
      file: more.file ?? "/nowhere/none",
      lines,
      objection,
    };
    const readiness = new Readiness(options, {
      ready: () => resolve(waited),
      waits: (problem) => waited.push(problem),
    });
    context.after(() => readiness.stop());
  });
}

test("a run is probed until it is ready", async (context) => {
  let status = 503;
  const port = await listening(
    context,
    answering((_request, response) => {
      response.writeHead(status).end();
      status = 200;
    }),
  );
  assert.equal((await ready(context, http(port)))[0], "answers with status 503");
});

test("an answer of another program doesn't count, and the probe is repeated", async (context) => {
  const port = await listening(context, createServer());
  const problems = ["its port is in use by another"];
  const waited = await ready(context, { kind: "port", port }, { objection: () => problems.shift() });
  assert.deepEqual(waited, ["its port is in use by another"]);
});

test("a line of a run that has ended makes it not ready", async (context) => {
  const problems: string[] = [];
  await new Promise<void>((resolve) => {
    const lines = async function* lines(): AsyncGenerator<string> {
      yield "up";
    };
    const readiness = new Readiness(
      {
        probe: { kind: "log", pattern: "up" },
        timeoutMs: 0,
        context: execContext,
        file: "",
        lines,
        objection: () => "it has ended",
      },
      {
        ready: () => assert.fail("it is ready"),
        waits: (problem) => {
          problems.push(problem);
          if (problems.length === 2) resolve();
        },
      },
    );
    context.after(() => readiness.stop());
  });
  assert.deepEqual(problems, ["no line of it matches /up/", "it has ended"]);
});

test("a run is ready when it has written to its descriptor", async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "probes-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "ready");
  writeFileSync(file, "");
  const readiness = ready(context, { kind: "fd", fd: 3 }, { file });
  setTimeout(() => writeFileSync(file, "\n"), 30);
  assert.equal((await readiness)[0], "has not written to descriptor 3");
});

test("a run is ready when a line of its output matches", async (context) => {
  const waited = await ready(
    context,
    { kind: "log", pattern: "^listening on \\d+$" },
    { lines: ["not listening on 1", "listening on 80"] },
  );
  assert.deepEqual(waited, ["no line of it matches /^listening on \\d+$/"]);
});

/** Resolves with the first results; `!` marks a failure at the threshold. */
function health(
  context: TestContext,
  probe: Probe,
  { startMs = 0, count = 4, intervalMs = 10, phase = 0.5, objection = (): string | undefined => undefined } = {},
): Promise<readonly string[]> {
  const answers: string[] = [];
  return new Promise((resolve) => {
    const hear = (answer: string): void => {
      answers.push(answer);
      if (answers.length === count) resolve(answers);
    };
    const spec = { probe, intervalMs, timeoutMs: 5_000, failures: 2, startMs };
    const asking = new Health(
      { spec, context: execContext, startMs, phase, objection },
      { well: () => hear("well"), ill: (problem, counts) => hear(`${problem}${counts ? "!" : ""}`) },
    );
    context.after(() => asking.stop());
  });
}

test("a run is unhealthy after the configured number of failures in a row; a success resets the count", async (context) => {
  const statuses = [200, 503, 200, 503, 500, 503, 204];
  const port = await listening(
    context,
    answering((_request, response) => response.writeHead(statuses.shift() ?? 200).end()),
  );
  assert.deepEqual(await health(context, http(port), { count: 7 }), [
    "well",
    "answers with status 503",
    "well",
    "answers with status 503",
    "answers with status 500!",
    "answers with status 503!",
    "well",
  ]);
});

test("an answer of another program is a failure of the health check", async (context) => {
  const port = await listening(context, createServer());
  const problems = ["its port is in use by another", "its port is in use by another"];
  const answers = await health(context, { kind: "port", port }, { count: 3, objection: () => problems.shift() });
  assert.deepEqual(answers, ["its port is in use by another", "its port is in use by another!", "well"]);
});

test("in the start period failures don't count until the first success", async (context) => {
  const statuses = [503, 503, 503, 200, 503, 503];
  const port = await listening(
    context,
    answering((_request, response) => response.writeHead(statuses.shift() ?? 200).end()),
  );
  const answers = await health(context, http(port), { count: 6, startMs: 60_000 });
  assert.deepEqual(
    answers.map((answer) => answer.at(-1)),
    ["3", "3", "3", "l", "3", "!"],
  );
});

test("a run that fails from its start is not probed again before the interval is over", async (context) => {
  const asked: number[] = [];
  const port = await listening(
    context,
    answering((_request, response) => {
      asked.push(performance.now());
      response.writeHead(503).end();
    }),
  );
  await health(context, http(port), { count: 2, intervalMs: 2_000, phase: 0.99 });
  const [first = 0, second = 0] = asked;
  assert.ok(second - first > 1_000, `${second - first} ms`);
});
