/**
 * procman opens no connection but those that are configured: docs/reference/security.md, "No telemetry". Its whole day
 * runs in a network namespace with one way out, whose packets are counted; names are asked of a server out there.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { freePort, freeRange } from "../support/free-ports.ts";
import { cleanEnvironment, folderWith, type ProcessConfig } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";
import { isMissing } from "../support/system-programs.ts";

/** Everything below ends with the namespace of its pids. */
const NAMESPACES = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];

/** `sent` prints how many packets have left. A packet to nobody counts as well: it begins with the question for its address. */
const NETWORK = `
set -eu
ip link set lo up
ip link add out type veth peer name far
for end in out far; do echo 1 >/proc/sys/net/ipv6/conf/$end/disable_ipv6; ip link set $end up; done
ip addr add 192.0.2.1/24 dev out
ip route add default via 192.0.2.254
mount --bind resolv.conf /etc/resolv.conf
sent() { awk '$1 == "out:" { print $11 }' /proc/net/dev; }
procman() { "$NODE" "$BIN" "$@" >>said 2>&1 || { tail -n 8 said; echo "procman $* failed"; exit 1; }; }
`;

/** The packets that leave while the commands run, in a folder with this configuration. Each command has to succeed. */
async function packetsOf(context: TestContext, processes: readonly ProcessConfig[], commands: string): Promise<number> {
  const api = { hostname: "127.0.0.1", port: await freePort() };
  const folder = folderWith(context, { name: "test", api, processes });
  writeFileSync(join(folder, "resolv.conf"), "nameserver 192.0.2.53\noptions timeout:1 attempts:1\n");
  const env = cleanEnvironment({ NODE: process.execPath, BIN, HOME: folder });
  const script = `${NETWORK}\n${commands}\necho "packets $(sent)"`;
  const [file = "", ...args] = [...NAMESPACES, "sh", "-c", script];
  const { stdout } = await promisify(execFile)(file, args, { cwd: folder, env }).catch((error) =>
    assert.fail(`${error.stderr}\n${error.stdout}`),
  );
  return Number(/^packets (\d+)$/m.exec(stdout)?.[1]);
}

function isImpossible(context: TestContext): boolean {
  if (process.getuid?.() === 0) return isMissing(context, "ip") || isMissing(context, "unshare");
  if (process.env.CI === "true") return false;
  context.skip("a network namespace needs root");
  return true;
}

test("starting, asking, changing, upgrading and ending procman sends no packet to any other machine", async (context) => {
  if (isImpossible(context)) return;
  const processes = [
    { id: "web", cmd: "sleep 1000", autostart: true, watch: ["*.js"] },
    {
      id: "api",
      cmd: `exec '${process.execPath}' -e 'require("http").createServer().listen(process.env.PROCMAN_CLUSTER_PORT)'`,
      autostart: true,
      cluster: { instances: 2, startPort: await freeRange(3), commonPort: await freePort() },
    },
    { id: "tick", cmd: "true", cron: "* * * * * *" },
  ];
  const commands = `
    procman version; procman --help; procman validate
    procman run --detach
    procman status; procman why web; procman show web; procman list; procman next; procman logs
    procman restart web; procman scale api 3; procman append --id more --cmd "sleep 1000" --apply; procman plan; procman reload
    procman token --consumer me; procman export --to systemd --output units; procman host list
    procman upgrade
    until grep -q tick said; do procman logs tick; done
    procman terminate`;
  assert.equal(await packetsOf(context, processes, commands), 0);
});

test("a check of health that is configured does leave: packets to an address, and questions for a name", async (context) => {
  if (isImpossible(context)) return;
  for (const host of ["192.0.2.7", "health.example"]) {
    const health = { http: `http://${host}/`, interval: 1, timeout: 1 };
    const processes = [{ id: "web", cmd: "sleep 1000", autostart: true, health }];
    const commands = `
      procman run --detach
      until [ "$(sent)" -gt 0 ]; do procman status; done
      procman terminate`;
    assert.notEqual(await packetsOf(context, processes, commands), 0);
  }
});
