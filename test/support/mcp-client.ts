/** A client of `procman mcp`, as small as the protocol allows: it sends what a test wants, also what no client would. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cleanEnvironment, inTime } from "./procman-process.ts";
import { BIN } from "./product.ts";

export type ToolResult = {
  readonly content: readonly { readonly type: string; readonly text: string }[];
  // biome-ignore lint/suspicious/noExplicitAny: each tool has another structure
  readonly structuredContent?: any;
  readonly isError?: boolean;
};

export type Answer = {
  readonly id?: number | string;
  // biome-ignore lint/suspicious/noExplicitAny: each method has another result
  readonly result?: any;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
};

const PROTOCOL = "2025-11-25";

type Context = { readonly after: (call: () => void | Promise<void>) => void };
type ClientOptions = { readonly args?: readonly string[]; readonly env?: NodeJS.ProcessEnv; readonly name?: string };

export class McpClient {
  readonly child: ChildProcess;
  /** Everything that it has sent, in order. */
  readonly answers: Answer[] = [];
  /** Lines that are not JSON: there must be none. */
  readonly noise: string[] = [];
  said = "";
  readonly #waiting = new Map<number | string, (answer: Answer) => void>();
  #rest = "";
  #last = 0;
  readonly #name: string;

  constructor(folder: string, { args = [], env = {}, name = "test-client" }: ClientOptions = {}) {
    this.#name = name;
    this.child = spawn(process.execPath, [BIN, "mcp", ...args], {
      cwd: folder,
      env: cleanEnvironment(env),
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.child.stdin?.on("error", () => undefined);
    this.child.stdout?.setEncoding("utf8").on("data", (text: string) => this.#take(text));
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.said += text;
    });
  }

  async initialize(): Promise<Answer> {
    const clientInfo = { name: this.#name, version: "1.0.0" };
    const answer = await this.request("initialize", { protocolVersion: PROTOCOL, capabilities: {}, clientInfo });
    this.write({ jsonrpc: "2.0", method: "notifications/initialized" });
    return answer;
  }

  /** Resolves with the answer, also an error. */
  async request(method: string, params: object = {}, id = this.#nextId()): Promise<Answer> {
    this.write({ jsonrpc: "2.0", id, method, params });
    return this.answerTo(id);
  }

  answerTo(id: number | string): Promise<Answer> {
    const come = new Promise<Answer>((resolve) => {
      const known = this.answers.find((answer) => answer.id === id);
      if (known === undefined) this.#waiting.set(id, resolve);
      else resolve(known);
    });
    return inTime(come, { what: `the answer ${id}: ${this.said}` });
  }

  async call(name: string, given: object = {}): Promise<ToolResult> {
    const { result, error } = await this.request("tools/call", { name, arguments: given });
    if (error !== undefined) throw new Error(`${name}: ${error.message}`);
    return result as ToolResult;
  }

  /** The same without waiting; `answerTo` has the answer. */
  begin(name: string, given: object = {}): number {
    const id = this.#nextId();
    this.write({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: given } });
    return id;
  }

  async tools(): Promise<readonly string[]> {
    const { result } = await this.request("tools/list");
    return (result as { tools: { name: string }[] }).tools.map(({ name }) => name);
  }

  write(message: object): void {
    this.raw(`${JSON.stringify(message)}\n`);
  }

  raw(text: string | Uint8Array): void {
    this.child.stdin?.write(text);
  }

  /** Closes its side, as clients do. Resolves with the exit code. */
  async close(): Promise<number | null> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return this.child.exitCode;
    const exit = once(this.child, "exit");
    this.child.stdin?.end();
    await exit;
    return this.child.exitCode;
  }

  #receive(answer: Answer): void {
    this.answers.push(answer);
    const { id = "" } = answer;
    this.#waiting.get(id)?.(answer);
    this.#waiting.delete(id);
  }

  #nextId(): number {
    this.#last += 1;
    return this.#last;
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines)
      try {
        this.#receive(JSON.parse(line) as Answer);
      } catch {
        this.noise.push(line);
      }
  }
}

/** An initialized client, which is ended after the test. */
export async function mcpClient(context: Context, folder: string, options: ClientOptions = {}): Promise<McpClient> {
  const client = new McpClient(folder, options);
  context.after(() => void client.child.kill("SIGKILL"));
  await client.initialize();
  return client;
}
