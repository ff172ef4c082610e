/** A machine that answers what it likes: by http on the loopback address, or by a program in place of ssh. */
import { type ChildProcess, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { TestContext } from "node:test";
import { procman } from "./cli.ts";
import { cleanEnvironment, folderWith, processExit } from "./procman-process.ts";
import { BIN } from "./product.ts";

export type OddHost = {
  readonly port: number;
  readonly requests: string[];
  answer: (request: string, socket: Socket) => void;
};

/** A server that answers each request by `answer`, which may be replaced. */
export async function oddHost(context: TestContext, answer: OddHost["answer"]): Promise<OddHost> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => undefined));
    socket.once("data", (bytes) => {
      const request = bytes.toString("latin1");
      host.requests.push(request);
      host.answer(request, socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const host = { port: (server.address() as AddressInfo).port, requests: [] as string[], answer };
  return host;
}

/** An answer of HTTP with these lines of its head. */
export function answered(body: string, head = "HTTP/1.1 200 OK\r\nContent-Type: application/json"): OddHost["answer"] {
  return (_request, socket) => void socket.end(`${head}\r\n\r\n${body}`);
}

/** An answer without end. */
export const endless: OddHost["answer"] = (_request, socket) => {
  const part = Buffer.alloc(65_536, "x");
  socket.write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n");
  const body = new Readable({ read: () => void body.push(part) });
  body.pipe(socket);
};

/** A folder with a list of hosts, and the environment in which commands find it. */
export function hostsFolder(context: TestContext, ports: Readonly<Record<string, number>>) {
  const folder = folderWith(context, { processes: [] });
  const env: NodeJS.ProcessEnv = { XDG_CONFIG_HOME: join(folder, "config"), SSH_CONNECTION: "", SUDO_USER: "" };
  const payload = Buffer.from(JSON.stringify({ sub: "desk", scope: "read" })).toString("base64url");
  writeFileSync(join(folder, "desk.token"), `e30.${payload}.x\n`, { mode: 0o600 });
  const add = async (name: string, url: string, ...options: readonly string[]) =>
    procman(folder, ["host", "add", name, url, ...options], env);
  const addAll = async (): Promise<void> => {
    for (const [name, port] of Object.entries(ports))
      await add(name, `http://127.0.0.1:${port}`, "--token-file", join(folder, "desk.token"), "--no-check");
  };
  const run = (...args: readonly string[]) => procman(folder, args, env);
  return { folder, env, add, addAll, run };
}

/** A program in place of ssh that prints these texts, whatever it is asked. */
export function oddSsh(folder: string, out: string, err = ""): string {
  const program = join(folder, "odd-ssh.cjs");
  writeFileSync(
    program,
    `process.stdout.write(${JSON.stringify(out)}); process.stderr.write(${JSON.stringify(err)});\n`,
  );
  return `${process.execPath} ${program}`;
}

export type OpenedGateway = { readonly link: string; readonly command: ChildProcess; readonly said: () => string };

/** `procman dashboard --host`, which runs until the end of the test. */
export async function openedGateway(
  context: TestContext,
  env: NodeJS.ProcessEnv,
  names: string,
): Promise<OpenedGateway> {
  const here = folderWith(context, { processes: [] });
  const command = spawn(process.execPath, [BIN, "dashboard", "--no-open", "--host", names], {
    cwd: here,
    env: cleanEnvironment({ ...env, SSH_CONNECTION: "", SUDO_USER: "" }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  context.after(async () => {
    command.kill("SIGINT");
    await processExit(command.pid ?? 0);
  });
  command.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const link = await new Promise<string>((resolve, reject) => {
    command.stdout.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      const [found] = /http:\/\/127\S+/.exec(said) ?? [];
      if (found !== undefined && said.includes("Ctrl-C")) resolve(found);
    });
    command.once("close", () => reject(new Error(`procman dashboard has ended: ${said}`)));
  });
  return { link, command, said: () => said };
}
