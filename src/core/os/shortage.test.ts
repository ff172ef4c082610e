import { execFileSync } from "node:child_process";
import { test } from "node:test";

test("the process table can be looked at while all file descriptors are in use, again and again", () => {
  const program = `
    import { openSync } from "node:fs";
    import { reserveDescriptor } from ${JSON.stringify(new URL("./shortage.ts", import.meta.url).href)};
    import { allEnvironments, allProcesses, isAlive, processStat } from ${JSON.stringify(new URL("./process-stat.ts", import.meta.url).href)};
    const own = processStat(process.pid);
    reserveDescriptor();
    try { for (;;) openSync("/dev/null"); } catch (error) { if (error.code !== "EMFILE") throw error; }
    for (let look = 0; look < 3; look++)
      if (!allProcesses().some(({ pid }) => pid === process.pid) || ![...allEnvironments()].some(([pid, text]) => pid === process.pid && text.includes("OWN=1")) || !isAlive(own.pid, own.startTime)) process.exit(1);
    process.exit(0);`;
  const command = 'ulimit -n 64; exec "$@"';
  execFileSync("sh", ["-c", command, "sh", process.execPath, "--import", "tsx", "--input-type=module", "-e", program], {
    env: { ...process.env, OWN: "1" },
    stdio: ["ignore", "inherit", "inherit"],
  });
});
