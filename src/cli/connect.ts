/** From a configuration file to a connection with the procman that runs it. */
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { ProcmanError } from "../base/errors.ts";
import { Client, type Send } from "../client/client.ts";
import { locate } from "../config/locate.ts";
import type { Endpoint } from "../contract/records.ts";
import { isAlive } from "../os/process-stat.ts";

/** No answer for so long: something is wrong. Milliseconds. */
const SILENCE_MS = 30_000;

/** @throws ProcmanError `no-daemon` */
export async function connect(config: string | undefined): Promise<Client> {
  const { stateDir, name } = locate(config, process.cwd());
  const endpoint = endpointIn(stateDir);
  const { signToken } = await import("../contract/token.ts");
  const token = await signToken({ audience: name, consumer: "cli", scopes: ["admin"] }, readFileSync(join(stateDir, "secret")), 60);
  return new Client(sender(endpoint, token));
}

function endpointIn(stateDir: string): Endpoint {
  try {
    const endpoint = JSON.parse(readFileSync(join(stateDir, "endpoint.json"), "utf8")) as Endpoint;
    if (isAlive(endpoint.pid, endpoint.startTime)) return endpoint;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  throw new ProcmanError("no-daemon", `Cannot reach procman: none is running for ${stateDir}. Start it with "procman run"`);
}

function sender({ hostname, port }: Endpoint, token: string): Send {
  return (method, path) =>
    new Promise((resolve, reject) => {
      const unreachable = (error: Error): void =>
        reject(new ProcmanError("no-daemon", `Cannot reach procman at ${hostname}:${port}: ${error.message}`, { cause: error }));
      const asked = request(
        { host: reachable(hostname), port, method, path, headers: { authorization: `Bearer ${token}` }, timeout: SILENCE_MS, agent: false },
        (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (chunk: string) => {
            text += chunk;
          });
          response.on("end", () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) }));
          response.on("error", unreachable);
        },
      );
      asked.on("timeout", () => asked.destroy(new Error(`no answer within ${SILENCE_MS / 1_000} s`)));
      asked.on("error", unreachable);
      asked.end();
    });
}

/** An address to listen on is not always one to connect to. */
function reachable(hostname: string): string {
  return hostname === "0.0.0.0" ? "127.0.0.1" : hostname === "::" ? "::1" : hostname;
}
