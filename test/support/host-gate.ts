/** Between a client and its hosts: sees what it says of a rollout, and may keep it from the host, or the answer from the client. */
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { TestContext } from "node:test";

/** `what`: `hold`, the step, or `watch`; undefined: it is about something else. */
export type HostMessage = { readonly host: string; readonly what: string | undefined };

/** `lost`: the host doesn't get it. `unanswered`: the host does, but the client gets no answer. */
export type Verdict = "pass" | "lost" | "unanswered";

/** Resolves with the port of the gate to a host. */
export async function gateTo(
  context: TestContext,
  { host, port }: { readonly host: string; readonly port: number },
  judge: (message: HostMessage) => Verdict | Promise<Verdict>,
): Promise<number> {
  const gate = createServer(async (asked, answer) => {
    const body = await buffer(asked);
    const verdict = await judge({ host, what: whatIn(asked, body) });
    const reply = verdict === "lost" ? undefined : await passed(asked, body, port);
    if (verdict !== "pass" || reply === undefined) asked.socket.destroy();
    else await answered(answer, reply);
  }).listen(0, "127.0.0.1");
  await once(gate, "listening");
  context.after(() => {
    gate.close();
    gate.closeAllConnections();
  });
  return (gate.address() as AddressInfo).port;
}

function whatIn({ method, url = "" }: IncomingMessage, body: Buffer): string | undefined {
  const [path, query = ""] = url.split("?");
  if (method === "GET") return path === "/rollout" && query.includes("wait=") ? "watch" : undefined;
  if (path === "/rollout/join") return "hold";
  return path === "/rollout/steps" ? (JSON.parse(body.toString()) as { readonly step: string }).step : undefined;
}

/** undefined: the host doesn't answer. */
function passed(
  { method, url, headers }: IncomingMessage,
  body: Buffer,
  port: number,
): Promise<IncomingMessage | undefined> {
  return new Promise((resolve) => {
    request({ host: "127.0.0.1", port, method, path: url, headers }, resolve)
      .once("error", () => resolve(undefined))
      .end(body);
  });
}

async function answered(answer: ServerResponse, reply: IncomingMessage): Promise<void> {
  const body = await buffer(reply);
  answer.writeHead(reply.statusCode ?? 500, reply.headers).end(body);
}
