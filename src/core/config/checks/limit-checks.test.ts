import assert from "node:assert/strict";
import { test } from "node:test";
import type { ProcessRights } from "../../os/process-rights.ts";
import { ConfigurationError } from "../problems.ts";
import { resolveConfiguration } from "../validate.ts";
import { accountErrors } from "./accounts.ts";
import { limitsOf, openFileWarnings, rightErrors } from "./limit-checks.ts";

function spec(fields: object) {
  return resolveConfiguration({ processes: [{ id: "web", cmd: "x", autostart: true, ...fields }] }).processes[0];
}

/** `path message` of each problem. */
function about(fields: object): string {
  try {
    spec(fields);
    return "";
  } catch (error) {
    assert.ok(error instanceof ConfigurationError);
    return error.problems.map(({ path, message }) => `${path} ${message}`).join("\n");
  }
}

test("sizes become bytes, unlimited becomes a number, omitted fields stay absent", () => {
  assert.equal(spec({ memoryLimit: "512MB" })?.memoryLimit, 512_000_000);
  assert.equal(spec({ memoryLimit: "512MB", memoryMax: "600 MiB" })?.memoryMax, 629_145_600);
  assert.deepEqual(spec({ ulimits: { nofile: 100, core: "0 MiB", cpu: 60 } })?.ulimits, {
    nofile: 100,
    core: 0,
    cpu: 60,
  });
  assert.deepEqual(
    [spec({ nice: -5 })?.nice, spec({ umask: "027" })?.umask, spec({ cpuQuota: 12.5 })?.cpuQuota],
    [-5, "027", 12.5],
  );
  assert.deepEqual(limitsOf({ ulimits: { core: "1MiB", stack: "unlimited" } } as never).ulimits, {
    core: 1_048_576,
    stack: -1,
  });
  assert.ok(
    !["memoryLimit", "memoryMax", "ulimits", "user", "group", "nice", "umask", "cpuQuota"].some(
      (key) => key in (spec({}) ?? {}),
    ),
  );
});

test("invalid limits are refused with place and allowed values", () => {
  assert.match(about({ memoryLimit: "much" }), /memoryLimit Found "much"; allowed: a size such as/);
  assert.match(
    about({ memoryMax: 0 }),
    /memoryMax Found 0; allowed: a size such as .*, more than 0; leave it out where there is no limit\./,
  );
  for (const nothing of [0, "0MB", "0.0 GiB"])
    assert.match(about({ memoryLimit: nothing }), /memoryLimit Found .*, more than 0; leave it out/);
  assert.equal(about({ memoryLimit: "0.5GB" }), "");
  assert.match(
    about({ memoryLimit: "512MB", memoryMax: 512_000_000 }),
    /memoryMax Found 512000000; allowed: more than "memoryLimit", which is "512MB"\./,
  );
  assert.match(
    about({ ulimits: { nofile: "64MB" } }),
    /ulimits\.nofile Found "64MB"; allowed: a whole number from 0, or "unlimited"/,
  );
  assert.match(about({ ulimits: { files: 1 } }), /ulimits\.files Found the unknown key "files"/);
  assert.match(about({ nice: 20 }), /nice Found 20; allowed: a whole number from -20/);
  assert.match(about({ umask: 27 }), /umask Found 27; allowed: three octal digits in quotes, such as "027"/);
  assert.match(about({ umask: "089" }), /umask Found "089"; allowed: three octal digits/);
});

test("an unknown limit is reported once, whatever its value is", () => {
  for (const value of [1, { toString: 1 }, []])
    assert.match(about({ ulimits: { nofiles: value } }), /^processes\[0\]\.ulimits\.nofiles [^\n]+$/);
});

test("users and groups are those of the machine, and only root may use another user", () => {
  const path = ["processes", 0];
  const problems = (process: object, own: number) =>
    accountErrors(process, path, own).map(({ path, message }) => `${path.join(".")} ${message}`);
  assert.deepEqual(problems({ user: "root" }, 0), []);
  assert.deepEqual(problems({ user: 1_234, group: 5 }, 0), []);
  assert.deepEqual(problems({ user: "root", group: "root" }, 0), []);
  assert.match(
    problems({ user: "no-such-user" }, 0)[0] ?? "",
    /^processes\.0\.user Found "no-such-user"; this machine has no such user/,
  );
  assert.match(
    problems({ group: "no-such-group" }, 0)[0] ?? "",
    /group Found "no-such-group"; this machine has no such group/,
  );
  assert.deepEqual(problems({ user: 1_234 }, 1_234), []);
  assert.match(
    problems({ user: "root" }, 1_234)[0] ?? "",
    /user Found "root"; only root may start processes as another user\. Run procman as root, or/,
  );
});

const LIMITED: ProcessRights = {
  isLinux: true,
  hardLimits: { "Max open files": 4_096, "Max core file size": Number.POSITIVE_INFINITY, "Max stack size": 8_388_608 },
  mostOpenFiles: 1_000_000,
  oomScoreAdjust: 0,
  can: () => false,
  has: () => true,
};
const ROOT: ProcessRights = { ...LIMITED, can: () => true };

function refusals(process: object, rights: ProcessRights): readonly string[] {
  return rightErrors(process, ["processes", 0], rights).map(
    ({ path, message }) => `${path.slice(2).join(".")} ${message}`,
  );
}

test("a ulimit over the hard limit is refused, as each start would fail", () => {
  assert.deepEqual(refusals({ ulimits: { nofile: 4_096, core: "unlimited", stack: "8MB", nproc: 9 } }, LIMITED), []);
  assert.deepEqual(refusals({ ulimits: { nofile: 65_536, stack: "unlimited" } }, LIMITED), [
    "ulimits.nofile Found 65536; allowed: at most 4096, the hard limit with which procman was started. Raise that, or lower this value.",
    'ulimits.stack Found "unlimited"; allowed: at most 8388608, the hard limit with which procman was started. Raise that, or lower this value.',
  ]);
  assert.deepEqual(refusals({ ulimits: { nofile: 65_536, stack: "unlimited" } }, ROOT), []);
  assert.match(
    refusals({ ulimits: { nofile: 1_000_001 } }, ROOT)[0] ?? "",
    /at most 1000000, the kernel's fs\.nr_open/,
  );
});

test("a process with another user has no rights of root, so the hard limit counts for it", () => {
  assert.equal(refusals({ ulimits: { nofile: 65_536 }, user: 1_234 }, ROOT).length, 1);
  assert.deepEqual(refusals({ ulimits: { nofile: 65_536 }, user: 0 }, ROOT), []);
  assert.equal(refusals({ oomScoreAdjust: -1, user: 1_234 }, ROOT).length, 1);
  assert.equal(refusals({ ioNice: { class: "realtime" }, user: 1_234 }, ROOT).length, 1);
});

test("a ulimit over the hard limit is an error of the configuration, also for a cluster", () => {
  const fields = { ulimits: { nofile: 2 ** 52 }, cluster: { instances: 2 } };
  if (process.platform === "linux")
    assert.match(about(fields), /^processes\[0\]\.ulimits\.nofile Found 4503599627370496; allowed: at most \d+, /);
});

test("priorities that the kernel would refuse are errors", () => {
  assert.deepEqual(refusals({ oomScoreAdjust: 500, ioNice: { class: "best-effort", level: 7 } }, LIMITED), []);
  assert.deepEqual(refusals({ oomScoreAdjust: -500, ioNice: { class: "realtime", level: 0 } }, ROOT), []);
  assert.match(
    refusals({ oomScoreAdjust: -1 }, LIMITED)[0] ?? "",
    /^oomScoreAdjust Found -1; allowed: 0 or more\. Only root/,
  );
  assert.deepEqual(refusals({ oomScoreAdjust: -1 }, { ...LIMITED, oomScoreAdjust: -500 }), []);
  assert.deepEqual(refusals({ oomScoreAdjust: 0 }, { ...LIMITED, oomScoreAdjust: 200 }), []);
  assert.match(
    refusals({ ioNice: { class: "realtime" } }, LIMITED)[0] ?? "",
    /^ioNice\.class Found "realtime"; allowed: "best-effort" or "idle"/,
  );
  assert.match(
    refusals({ ioNice: { class: "idle", level: 3 } }, LIMITED)[0] ?? "",
    /^ioNice\.level Found 3; the class "idle" has no levels/,
  );
  assert.match(
    refusals({ ioNice: { class: "idle" } }, { ...ROOT, has: () => false })[0] ?? "",
    /^ioNice It needs the program "ionice"/,
  );
  assert.match(refusals({ nice: 5 }, { ...ROOT, has: () => false })[0] ?? "", /^nice It needs the program "nice"/);
});

test("the system is not asked for a process without limits and priorities", () => {
  const unasked = new Proxy(LIMITED, { get: (_, name) => assert.fail(`asked for ${String(name)}`) });
  assert.deepEqual(refusals({ user: String(process.getuid?.()) }, unasked), []);
});

test("what only Linux has is refused elsewhere", () => {
  assert.deepEqual(refusals({ oomScoreAdjust: 5, ioNice: { class: "idle" } }, { ...ROOT, isLinux: false }), [
    "oomScoreAdjust Found 5; only Linux has this setting. Leave it out here.",
    "ioNice Found an object; only Linux has this setting. Leave it out here.",
  ]);
  assert.match(about({ cpuQuota: 0 }), /cpuQuota Found 0; allowed: a number of percent of one core from 1 to 102400/);
  assert.match(
    about({ ioNice: { class: "fast" } }),
    /ioNice\.class Found "fast"; allowed: "realtime", "best-effort" or "idle"/,
  );
});

test("more processes than procman may open files for are a warning, with the number that can run", () => {
  const rights = { hardLimits: { "Max open files": 1_024 } } as unknown as ProcessRights;
  const warned = (config: object) => openFileWarnings(config, 32, rights).map(({ message }) => message);
  const single = Array.from({ length: 500 }, (_, number) => ({ id: `p${number}`, cmd: "x" }));
  assert.deepEqual(warned({ processes: single }), [
    '500 processes need 1044 open files, and procman may open 1024: about 490 can run. Before procman is started, run "ulimit -n 1044", or set LimitNOFILE=1044 in its systemd unit.',
  ]);
  assert.match(
    warned({ processes: [{ id: "web", cmd: "x", cluster: { instances: 700 } }] }).join(),
    /^700 processes need 1444 /,
  );
  assert.deepEqual(warned({ processes: single.slice(0, 490) }), []);
  assert.deepEqual(warned({ processes: single, logger: { internalLogHours: 0 } }), []);
  assert.deepEqual(warned({ processes: [{ id: "web", cmd: "x", cluster: { instances: "max" } }] }), []);
});
