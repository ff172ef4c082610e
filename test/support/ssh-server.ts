/** A real sshd on the loopback address, for this user. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { freePort } from "./free-ports.ts";
import { processExit } from "./procman-process.ts";
import { BIN } from "./product.ts";

export type SshServer = {
  readonly port: number;
  readonly user: string;
  /** For commands: where the list of hosts is, and how ssh finds the key. */
  readonly env: NodeJS.ProcessEnv;
  /** XDG_STATE_HOME there. */
  readonly stateHome: string;
  /** A program `procman` there: the tested one. */
  readonly program: string;
  /** Ends the server with all its connections, as if the machine were gone. */
  readonly stop: () => Promise<void>;
};

/** Ends with the test. */
export async function sshServer(context: TestContext): Promise<SshServer> {
  const folder = mkdtempSync(join(tmpdir(), "procman-ssh-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const [hostKey, userKey, program] = [join(folder, "host"), join(folder, "user"), join(folder, "procman")];
  const stateHome = join(folder, "state");
  for (const key of [hostKey, userKey]) execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", key]);
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${BIN}' "$@"\n`);
  chmodSync(program, 0o755);
  const port = await freePort();
  const { username: user } = userInfo();
  writeFileSync(join(folder, "sshd_config"), serverOptions({ port, hostKey, userKey, stateHome }));
  writeFileSync(join(folder, "ssh_config"), clientOptions(folder, userKey));
  // sshd of root wants it (sshd(8), /run/sshd).
  if (process.getuid?.() === 0) mkdirSync("/run/sshd", { recursive: true });
  const server = spawn("/usr/sbin/sshd", ["-D", "-e", "-f", join(folder, "sshd_config")], {
    stdio: ["ignore", "ignore", "pipe"],
    detached: true,
  });
  const stop = async (): Promise<void> => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    // With the processes of its connections, which have the same group or were started by them.
    for (const pid of [...childrenOf(server.pid ?? 0), server.pid ?? 0]) process.kill(pid, "SIGKILL");
    await processExit(server.pid ?? 0);
  };
  context.after(stop);
  await listening(server);
  const env = { XDG_CONFIG_HOME: join(folder, "config"), PROCMAN_SSH: `ssh -F ${join(folder, "ssh_config")}` };
  return { port, user, env, program, stateHome, stop };
}

function childrenOf(pid: number): readonly number[] {
  const lines = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" }).trim().split("\n");
  const all = lines.map((line) => line.trim().split(/\s+/).map(Number));
  return all.flatMap(([child = 0, parent]) => (parent === pid ? [child] : []));
}

type ServerFiles = {
  readonly port: number;
  readonly hostKey: string;
  readonly userKey: string;
  readonly stateHome: string;
};

function serverOptions({ port, hostKey, userKey, stateHome }: ServerFiles): string {
  const options = [
    `Port ${port}`,
    "ListenAddress 127.0.0.1",
    `HostKey ${hostKey}`,
    `AuthorizedKeysFile ${userKey}.pub`,
    "StrictModes no",
    "UsePAM no",
    "PidFile none",
    "PasswordAuthentication no",
    "KbdInteractiveAuthentication no",
    "PermitRootLogin prohibit-password",
    "AllowStreamLocalForwarding yes",
    `SetEnv XDG_STATE_HOME=${stateHome}`,
  ];
  return `${options.join("\n")}\n`;
}

function clientOptions(folder: string, userKey: string): string {
  return `IdentityFile ${userKey}\nIdentitiesOnly yes\nStrictHostKeyChecking accept-new\nUserKnownHostsFile ${join(folder, "known_hosts")}\nLogLevel ERROR\n`;
}

function listening(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = "";
    server.stderr?.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      if (said.includes("Server listening")) resolve();
    });
    server.once("error", reject).once("exit", () => reject(new Error(`sshd has ended: ${said}`)));
  });
}
