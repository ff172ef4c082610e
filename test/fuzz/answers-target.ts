/**
 * Answers of servers to procman's own clients, with damage, in pieces and cut off: the HTTP/1.0 client of the commands,
 * the parser of event streams, and those that ask a balancer. Each fails with an error or goes on; none throws outside
 * of its promise, or waits for ever.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { exchange } from "../../src/client/connection/http10.ts";
import { EventParser } from "../../src/client/sse-parser.ts";
import { probeExisting } from "../../src/core/balancer/control-socket.ts";
import { upgradeBalancer } from "../../src/core/keeper/balancer-upgrade.ts";
import { balancerSocket } from "../../src/core/os/balancer-socket.ts";
import { BalancerClient } from "../../src/core/service/balancer/balancer-client.ts";
import { inTime } from "../support/procman-process.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import { damaged, type FuzzTarget, oddJson, whole } from "./fuzz-target.ts";

const WORDS = [
  "\r\n",
  "\r\n\r\n",
  "\n",
  "Content-Length: ",
  "Transfer-Encoding: chunked",
  "HTTP/1.1 ",
  "-1",
  "1e9",
  "null",
  '{"t":"hello"}',
  "\u0000",
];
const REPLY =
  'HTTP/1.0 200 OK\r\nContent-Type: application/json\r\nContent-Length: 17\r\nX-A: b\r\n\r\n{"processes":[1]}';
const EVENTS = 'retry: 100\r\n\r\n: hello\n\nid: 1-2\nevent: entry\ndata: {"a":1}\ndata: b\n\ndata: \u20ac\r\rid\n\n';
const IDENTITY = { pid: 7, startTime: "1", version: "1.0.0" };
const BACKEND = { id: "web-1", accepting: true, connections: 0, total: 0, bytesIn: 0, bytesOut: 0, refused: 0 };
const LINES: readonly object[] = [
  { t: "hello", ...IDENTITY },
  { t: "applied", serial: 1 },
  { t: "report", fronts: [{ id: "web", waiting: 0, rejected: 0, backends: [BACKEND] }] },
  { t: "refused", problem: "why" },
  { t: "succeeded", ...IDENTITY },
];

type Kind = "reply" | "events" | "balancer";

/** Its first byte says whose answer it is, the second how long the pieces are. */
function input(random: SeededRandom): Buffer {
  const kind = random.weighted<Kind>({ reply: 3, events: 2, balancer: 3 });
  const lines = (): string =>
    LINES.map((line) => `${JSON.stringify(random.next() < 0.3 ? oddJson(line, random) : line)}\n`).join("");
  const text = kind === "reply" ? REPLY : kind === "events" ? EVENTS : lines();
  const bytes = random.next() < 0.8 ? damaged(Buffer.from(text), random, { words: WORDS }) : Buffer.from(text);
  return Buffer.concat([Buffer.from([kind.charCodeAt(0), 1 + whole(random, 255)]), bytes]);
}

/** Sends the same answer to each client, and ends the connection. */
class AnswerServer {
  readonly server: Server;
  answer: readonly Buffer[] = [];
  #clients = new Set<Socket>();

  constructor() {
    this.server = createServer((client) => {
      this.#clients.add(client);
      client.on("close", () => this.#clients.delete(client)).on("error", () => client.destroy());
      client.resume();
      for (const piece of this.answer) client.write(piece);
      client.end();
    });
  }

  async listen(at: string | 0): Promise<void> {
    if (at === 0) this.server.listen(0, "127.0.0.1");
    else this.server.listen(at);
    await once(this.server, "listening");
  }

  close(): void {
    this.server.close();
    for (const client of this.#clients) client.destroy();
  }
}

/** The result or the error. */
function outcome(promise: Promise<unknown>, what: string): Promise<unknown> {
  return inTime(
    promise.catch((error: unknown) => {
      assert.ok(error instanceof Error, `${what}: ${String(error)}`);
    }),
    { what },
  );
}

async function askBalancer(folder: string, socket: string): Promise<void> {
  await outcome(probeExisting(socket), "the balancer's hello");
  await outcome(upgradeBalancer(socket, { argv: ["nothing"], env: {} }), "the balancer's successor");
  const client = new BalancerClient({
    stateDir: folder,
    fronts: () => [],
    onReport: (reports) => JSON.stringify(reports.map(({ backends }) => backends.map(({ id }) => id))),
  });
  await new Promise((resolve) => setTimeout(resolve, 3));
  client.close();
}

export async function openAnswers(): Promise<FuzzTarget> {
  const folder = mkdtempSync(join(tmpdir(), "procman-fuzz-"));
  const [http, balancer] = [new AnswerServer(), new AnswerServer()];
  const socket = balancerSocket(folder);
  mkdirSync(dirname(socket));
  await http.listen(0);
  await balancer.listen(socket);
  const { port } = http.server.address() as AddressInfo;
  const ask = async (): Promise<string> =>
    (await exchange({ method: "GET", path: "/", headers: {}, hostname: "127.0.0.1", port, silenceMs: 20_000 })).text();
  return {
    input,
    check: async (given) => {
      const [kind, size, bytes] = [String.fromCharCode(given[0] ?? 0), given[1] ?? 1, given.subarray(2)];
      // Few pieces: each is a packet.
      const step = Math.max(size, Math.ceil(bytes.length / 20));
      const pieces = Array.from({ length: Math.ceil(bytes.length / step) }, (_, index) =>
        bytes.subarray(index * step, (index + 1) * step),
      );
      if (kind === "e") {
        const [parser, atOnce] = [new EventParser(), new EventParser()];
        assert.deepEqual(
          pieces.flatMap((piece) => parser.read(piece)),
          atOnce.read(bytes),
          "events depend on the pieces",
        );
      } else if (kind === "r") {
        http.answer = pieces;
        await outcome(ask(), "the answer");
      } else {
        balancer.answer = pieces;
        await askBalancer(folder, socket);
      }
    },
    close: async () => {
      http.close();
      balancer.close();
      rmSync(folder, { recursive: true });
    },
  };
}
