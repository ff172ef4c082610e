/** A web server on the loopback address that passes requests on to other machines: `/web1/…` to the API of web1. */
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { HostDoor } from "./host-door.ts";

/** Headers that belong to one connection (RFC 9110, 7.6.1), and those that name this server. */
const OWN_HEADERS = ["connection", "keep-alive", "transfer-encoding", "upgrade", "te", "proxy-connection", "host", "origin", "referer"];

export class HostGateway {
  readonly #doors: ReadonlyMap<string, HostDoor>;
  readonly #server: Server;
  #port = 0;

  /** By the first part of the path. */
  constructor(doors: ReadonlyMap<string, HostDoor>) {
    this.#doors = doors;
    this.#server = httpModule().createServer((request, response) => void this.#handle(request, response));
  }

  /** Resolves with the port. */
  listen(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject).listen(0, "127.0.0.1", () => {
        this.#port = (this.#server.address() as AddressInfo).port;
        resolve(this.#port);
      });
    });
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** Never rejects. */
  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      if (!this.#isOwn(request.headers)) return refuse(response, 403, "This address is for one browser on this machine");
      const [, name = "", rest = ""] = /^\/([^/?]*)(.*)$/s.exec(request.url ?? "") ?? [];
      const door = this.#doors.get(decodeURIComponent(name));
      if (door === undefined || rest === "")
        return void response.writeHead(302, { location: `/${name === "" || door === undefined ? this.#first : name}/` }).end();
      if (door.exchange !== undefined && rest === "/dashboard/token" && request.method === "POST")
        return await signIn(request, response, door.exchange);
      await passOn({ request, response, door, path: rest });
    } catch (error) {
      refuse(response, 502, (error as Error).message);
    }
  }

  get #first(): string {
    return encodeURIComponent([...this.#doors.keys()][0] ?? "");
  }

  /** No page of another site, also by a name that leads here (DNS rebinding). */
  #isOwn({ host, origin }: IncomingHttpHeaders): boolean {
    const own = [`127.0.0.1:${this.#port}`, `localhost:${this.#port}`];
    return own.includes(host ?? "") && (origin === undefined || own.some((each) => origin === `http://${each}`));
  }
}

async function signIn(request: IncomingMessage, response: ServerResponse, exchange: (code: string) => string | undefined): Promise<void> {
  const { code } = JSON.parse(await bodyOf(request)) as { readonly code?: unknown };
  const token = exchange(String(code));
  if (token === undefined) return refuse(response, 401, 'The code was used before, or is too old; run "procman dashboard" again');
  response.writeHead(200, { "content-type": "application/json", "cache-control": "no-store" }).end(JSON.stringify({ token }));
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

/** Loaded here: all commands are in one file, and `node:http` takes 10 ms of each start. */
function httpModule(): typeof import("node:http") {
  return process.getBuiltinModule("node:http");
}

type Passing = { readonly request: IncomingMessage; readonly response: ServerResponse; readonly door: HostDoor; readonly path: string };

async function passOn({ request, response, door, path }: Passing): Promise<void> {
  const { isTls, prefix, headers, ...address } = await door.address();
  const send = isTls ? process.getBuiltinModule("node:https").request : httpModule().request;
  const all = { ...withoutOwn(request.headers), ...headers };
  const outgoing = send({ ...address, method: request.method, path: `${prefix}${path}`, headers: all }, (reply) => {
    response.writeHead(reply.statusCode ?? 502, withoutOwn(reply.headers));
    // A stream ends when either side does.
    reply.on("error", () => response.destroy()).pipe(response);
  });
  outgoing.on("error", (error) => refuse(response, 502, `Cannot reach ${door.name}: ${error.message}`));
  response.on("close", () => outgoing.destroy());
  request.on("error", () => outgoing.destroy()).pipe(outgoing);
}

function withoutOwn(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !OWN_HEADERS.includes(name)));
}

/** As the API answers (RFC 9457). */
function refuse(response: ServerResponse, status: number, detail: string): void {
  if (response.headersSent) return void response.destroy();
  const problem = { type: "about:blank", title: "No answer", status, detail, code: status === 401 ? "unauthorized" : "service-down" };
  response.writeHead(status, { "content-type": "application/problem+json" }).end(JSON.stringify(problem));
}
