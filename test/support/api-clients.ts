/** Clients of an API whose service is replaced, and a program that wants its port. */
import { type ChildProcess, spawn } from "node:child_process";
import { connect } from "node:net";
import type { TestContext } from "node:test";

/** Answers of one kind, by number: "200", "ECONNREFUSED", "cut". */
export type Outcomes = Record<string, number>;

/** An address has 100 requests a second without a token. Milliseconds. */
const PAUSE_MS = 12;

/**
 * Sends one request after the other, each over a new connection, until the returned function is called or the test
 * ends. The function resolves with the outcomes: a status, the code of an error, or `cut` for a connection that ended
 * without an answer.
 */
export function askAllTheTime(context: TestContext, port: number): () => Promise<Outcomes> {
  const outcomes: Outcomes = {};
  let goesOn = true;
  const asking = (async () => {
    while (goesOn) {
      const outcome = await ask(port);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  })();
  const stop = (): Promise<void> => {
    goesOn = false;
    return asking;
  };
  context.after(stop);
  return async () => {
    await stop();
    return outcomes;
  };
}

function ask(port: number): Promise<string> {
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect(port, "127.0.0.1", () =>
      socket.write("GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
    );
    socket.setEncoding("latin1").on("data", (text: string) => {
      answer += text;
    });
    socket.on("error", ({ code = "" }: NodeJS.ErrnoException) =>
      resolve(code === "ECONNRESET" || code === "EPIPE" ? "cut" : code),
    );
    socket.on("close", () => resolve(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? "cut"));
  });
}

/** A program that tries to listen on the port all the time, and prints `took` when it can. It ends when its standard input does. */
const BINDER = `
  const { createServer } = require("node:net");
  process.stdin.on("end", () => process.exit()).resume();
  const attempt = () => {
    const server = createServer((socket) => socket.end("HTTP/1.1 299 foreign\\r\\n\\r\\n"));
    server.on("error", () => setImmediate(attempt));
    server.listen({ host: "127.0.0.1", port: Number(process.argv[1]), exclusive: true }, () => console.log("took"));
  };
  attempt();
  console.log("trying");
`;

/** Runs the program until the returned function is called or the test ends. The function resolves with its output. `launcher`: a command line before it. */
export async function bindAllTheTime(
  context: TestContext,
  port: number,
  launcher: readonly string[] = [],
): Promise<() => Promise<string>> {
  const [program = "", ...args] = [...launcher, process.execPath, "-e", BINDER, String(port)];
  const child: ChildProcess = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  context.after(() => child.stdin?.end());
  let printed = "";
  await new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      printed += text;
      resolve();
    });
  });
  return async () => {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.stdin?.end();
    await ended;
    return printed;
  };
}
