/** `--haproxy` and `--drain-command`: takes a host out of its load balancer, and puts it back. It runs on this machine. */
import { spawn } from "node:child_process";
import { addressIn } from "../../client/connection/host-address.ts";
import type { NamedHost } from "../../client/connection/host-file.ts";
import { printable } from "../../core/base/printable.ts";
import { type HaproxyHost, haproxyStep } from "./haproxy-drain.ts";

/** The end of its output, for the message when it fails. Characters. */
const MOST_OUTPUT = 1_000;
/** For HAProxy. */
const DRAIN_SECONDS = 60;

export type Drained = { readonly host: NamedHost; readonly state: "drain" | "ready"; readonly rollout: string };

/** Resolves with why it has failed, if it has. */
export type DrainHost = (drained: Drained) => Promise<string | undefined>;

type DrainOptions = {
  readonly drainCommand?: string | undefined;
  readonly haproxy?: string | undefined;
  readonly drainTimeout?: number | undefined;
};

/** undefined: the user has named no way. */
export function drainFor({ drainCommand, haproxy, drainTimeout = DRAIN_SECONDS }: DrainOptions): DrainHost | undefined {
  if (drainCommand !== undefined) return (drained) => runDrainCommand(drainCommand, drained);
  if (haproxy === undefined) return undefined;
  return ({ host, state }) => haproxyStep(haproxy.split(","), { ...placeOf(host), state }, { seconds: drainTimeout });
}

/** Where HAProxy may have it. */
export function placeOf({ name, url }: NamedHost): HaproxyHost {
  const address = addressIn(url);
  if (address.kind === "unix") return { name, hostname: "localhost" };
  const { destination } = address.kind === "ssh" ? address : { destination: new URL(url).hostname };
  return { name, hostname: destination.slice(destination.lastIndexOf("@") + 1).replace(/^\[|\]$/g, "") };
}

/** Resolves with why it has failed, if it has. */
function runDrainCommand(command: string, { host, state, rollout }: Drained): Promise<string | undefined> {
  const env = { ...process.env, PROCMAN_HOST: host.name, PROCMAN_HOST_STATE: state, PROCMAN_ROLLOUT: rollout };
  return new Promise((resolve) => {
    let said = "";
    const child = spawn("/bin/sh", ["-c", command], { env, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        said = `${said}${text}`.slice(-MOST_OUTPUT);
      });
    child.once("error", (error) => resolve(`the drain command can't be started: ${error.message}`));
    child.once("close", (code, signal) => {
      const last = printable(said.trim().split("\n").at(-1) ?? "");
      const why = `the drain command (${state}) ended with ${signal ?? `code ${code}`}`;
      resolve(code === 0 ? undefined : last === "" ? why : `${why}: ${last}`);
    });
  });
}
