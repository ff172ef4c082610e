/** Servers for plugins: an OTLP collector and a syslog server, which check their input as strictly as the standards. */
import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { EventEmitter, once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, createServer as createTcp, type Socket } from "node:net";
import { gunzipSync } from "node:zlib";

type Context = { readonly after: (call: () => void | Promise<void>) => void };
type Json = { readonly [key: string]: unknown };

export class Collector extends EventEmitter {
  /** Status of its answers. */
  status = 200;
  readonly records: { readonly service: string; readonly body: string; readonly severity: number }[] = [];
  readonly metrics: { readonly service: string; readonly name: string }[] = [];
  readonly faults: string[] = [];
  url = "";
  readonly #server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      if (this.status === 200) this.#take(request, Buffer.concat(parts));
      response.writeHead(this.status, { "content-type": "application/json", "retry-after": "0" }).end("{}");
      this.emit("request");
    });
  });

  async listen(context: Context): Promise<this> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    context.after(() => {
      this.#server.closeAllConnections();
      this.#server.close();
    });
    return this;
  }

  #take({ url, headers, method }: IncomingMessage, raw: Buffer): void {
    try {
      assert.deepEqual([method, headers["content-type"]], ["POST", "application/json"]);
      const body = JSON.parse((headers["content-encoding"] === "gzip" ? gunzipSync(raw) : raw).toString()) as Json;
      if (url === "/v1/logs") this.#logs(body);
      else if (url === "/v1/metrics") this.#metrics(body);
      else assert.fail(`path ${url}`);
    } catch (error) {
      this.faults.push((error as Error).message);
    }
  }

  #logs(body: Json): void {
    for (const { resource, scopeLogs } of body.resourceLogs as readonly Json[])
      for (const { scope, logRecords } of scopeLogs as readonly Json[]) {
        assert.equal((scope as Json).name, "procman");
        for (const {
          timeUnixNano,
          observedTimeUnixNano,
          severityNumber,
          body: text,
        } of logRecords as readonly Json[]) {
          for (const time of [timeUnixNano, observedTimeUnixNano]) assert.match(time as string, /^1\d{18}$/);
          assert.ok([5, 9, 13, 17].includes(severityNumber as number));
          const { stringValue } = text as { readonly stringValue: string };
          this.records.push({
            service: serviceOf(resource as Json),
            body: stringValue,
            severity: severityNumber as number,
          });
        }
      }
  }

  #metrics(body: Json): void {
    for (const { resource, scopeMetrics } of body.resourceMetrics as readonly Json[])
      for (const { metrics } of scopeMetrics as readonly Json[])
        for (const { name, unit, gauge, sum } of metrics as readonly Json[]) {
          assert.equal(typeof unit, "string");
          const { dataPoints } = (gauge ?? sum) as { readonly dataPoints: readonly Json[] };
          if (sum !== undefined) assert.equal((sum as Json).aggregationTemporality, 2);
          for (const { timeUnixNano, asInt, asDouble } of dataPoints) {
            assert.match(timeUnixNano as string, /^1\d{18}$/);
            assert.ok(asInt === undefined ? typeof asDouble === "number" : /^-?\d+$/.test(asInt as string));
          }
          this.metrics.push({ service: serviceOf(resource as Json), name: name as string });
        }
  }
}

function serviceOf({ attributes }: Json): string {
  const found = (
    attributes as readonly { readonly key: string; readonly value: { readonly stringValue: string } }[]
  ).find(({ key }) => key === "service.name");
  assert.ok(found !== undefined);
  return found.value.stringValue;
}

export type Syslog = {
  readonly priority: number;
  readonly host: string;
  readonly app: string;
  readonly id: string;
  readonly data: string;
  readonly text: string;
};

const RFC_5424 =
  /^<(\d{1,3})>1 (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) ([\x21-\x7e]{1,255}) ([\x21-\x7e]{1,48}) (-|[\x21-\x7e]{1,128}) ([\x21-\x7e]{1,32}) (\[procman@32473(?: [a-z]+="(?:[^"\\\]]|\\["\\\]])*")*\]) (.*)$/su;

export class SyslogServer extends EventEmitter {
  readonly messages: Syslog[] = [];
  readonly faults: string[] = [];
  readonly #sockets = new Set<Socket>();
  #tcp = createTcp();
  port = 0;

  /** Takes messages framed by their length. */
  async listen(context: Context): Promise<this> {
    await this.#open(0);
    this.port = (this.#tcp.address() as AddressInfo).port;
    context.after(() => this.close());
    return this;
  }

  /** Resets all connections, and closes the port. */
  close(): void {
    this.#tcp.close();
    for (const socket of this.#sockets) socket.resetAndDestroy();
    this.#sockets.clear();
  }

  reopen(): Promise<void> {
    return this.#open(this.port);
  }

  async datagrams(context: Context): Promise<this> {
    const socket = createSocket("udp4").on("message", (message) => this.#take(message));
    socket.bind(0, "127.0.0.1");
    await once(socket, "listening");
    this.port = socket.address().port;
    context.after(() => void socket.close());
    return this;
  }

  async #open(port: number): Promise<void> {
    this.#tcp = createTcp((socket) => {
      this.#sockets.add(socket.on("error", () => undefined));
      let rest = Buffer.alloc(0);
      socket.on("data", (part) => {
        rest = this.#unframe(Buffer.concat([rest, part]));
      });
    }).listen(port, "127.0.0.1");
    await once(this.#tcp, "listening");
  }

  #unframe(bytes: Buffer): Buffer<ArrayBuffer> {
    let at = 0;
    for (;;) {
      const space = bytes.indexOf(0x20, at);
      const digits = bytes.subarray(at, space < 0 ? bytes.length : space).toString();
      if (!/^(?:[1-9]\d*)?$/.test(digits)) this.faults.push(`length ${JSON.stringify(digits.slice(0, 40))}`);
      const end = space + 1 + Number(digits);
      if (space < 0 || end > bytes.length) return Buffer.from(bytes.subarray(at));
      this.#take(bytes.subarray(space + 1, end));
      at = end;
    }
  }

  #take(message: Buffer): void {
    const [, priority, , host = "", app = "", , id = "", data = "", text = ""] =
      RFC_5424.exec(message.toString()) ?? [];
    if (priority === undefined) this.faults.push(`message ${message}`);
    else this.messages.push({ priority: Number(priority), host, app, id, data, text });
    this.emit("message");
  }
}
