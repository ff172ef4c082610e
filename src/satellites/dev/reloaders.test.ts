/** Which processes `procman dev --watch` restarts. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { resolveConfiguration } from "../../core/config/validate.ts";
import { reloadPlan } from "./reloaders.ts";

test("programs that reload themselves are left alone, also behind a script of package.json", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "procman-dev-"));
  context.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ scripts: { dev: "vite --port 3000", api: "node api.js", "api:watch": "tsx watch api.ts" } }),
  );
  const commands = {
    node: "node server.js",
    api: "npm run api",
    build: "vite build && node server.js",
    invite: "node invite.js",
    python: "python3 app.py",
    air: "node air.js",
    nodemon: "npx nodemon server.js",
    watching: "node --watch server.js",
    vite: "npm run dev",
    pnpm: "pnpm dev",
    tsx: "yarn run api:watch",
    next: "next dev --turbo",
    uvicorn: "uvicorn app:app --reload",
  };
  const processes = Object.entries(commands).map(([id, cmd]) => ({ id, cmd, autostart: true as const }));
  const { processes: specs } = resolveConfiguration(
    {
      processes: [
        ...processes,
        { id: "own", cmd: "node x.js", watch: ["src"] },
        { id: "nightly", cmd: "node x.js", cron: "0 3 * * *" },
        { id: "cluster", cmd: "node x.js", autostart: true, cluster: { instances: 2 } },
      ],
    },
    { cwd: folder },
  );
  assert.deepEqual(reloadPlan(specs), {
    watched: ["node", "api", "build", "invite", "python", "air", "cluster"],
    own: ["nodemon", "watching", "vite", "pnpm", "tsx", "next", "uvicorn"],
  });
});
