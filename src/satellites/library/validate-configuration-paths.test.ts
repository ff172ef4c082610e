import assert from "node:assert/strict";
import { test } from "node:test";
import type { Configuration } from "../../../generated/configuration.ts";
import { withAbsolutePaths } from "../../core/config/absolute-paths.ts";
import type { RawConfig } from "../../core/config/config-schema.ts";
import { resolveConfiguration } from "../../core/config/validate.ts";
import { defineConfig } from "./validate-configuration.ts";

const CONFIG = defineConfig({
  name: "all",
  logger: { stdout: "logs/{id}.log", stderr: "../err.log", rotate: { size: "1MB" } },
  processes: [
    {
      id: "web",
      cmd: "./run.sh",
      cwd: "app",
      env: { PATH: "bin:/opt/bin", NAME: "web" },
      path: ["tools", "/usr/games:more"],
      pidFile: "run/{id}.pid",
      watch: ["src", "/etc/hosts"],
      logger: { stdout: "web.log" },
      restart: "always",
    },
    {
      id: "job",
      worker: ["job.js", "argument.js"],
      path: "tools",
      cron: "0 3 * * *",
      logger: { stderr: "/var/log/job.err" },
    },
    { id: "one", worker: "one.js", autostart: true, path: ":" },
    {
      id: "home",
      cmd: "./run.sh",
      cwd: "~/app",
      user: 0,
      path: "~/bin",
      watch: ["~/src"],
      pidFile: "~/a.pid",
      logger: { stdout: "~/a.log" },
    },
  ],
});

test("a configuration with absolute paths is independent of its location", () => {
  const { stateDir: _here, ...here } = resolveConfiguration(CONFIG, { cwd: "/srv/app" });
  const { stateDir: _there, ...there } = resolveConfiguration(withAbsolutePaths(CONFIG, "/srv/app"), {
    cwd: "/somewhere/else",
  });
  assert.deepEqual(there, here);
});

test("relative paths in defaults are absolute, too, and a process without a folder has that of the configuration", () => {
  const config = defineConfig({
    defaults: { cwd: "app", envFile: ".env", logger: { stdout: "{id}.log" } },
    processes: [
      { id: "web", cmd: "./run.sh" },
      { id: "admin", extends: "web", cwd: null, envFile: null, env: { A: "1" } },
    ],
    profiles: { ci: { defaults: { pidFile: "run/{id}.pid" } }, bare: { defaults: null } },
  });
  for (const options of [{}, { profile: "ci" }, { profile: "bare" }]) {
    const { stateDir: _here, ...here } = resolveConfiguration(config, { ...options, cwd: "/srv/app" });
    const moved = withAbsolutePaths(config, "/srv/app");
    const { stateDir: _there, ...there } = resolveConfiguration(moved, { ...options, cwd: "/somewhere/else" });
    assert.deepEqual(there, here);
    assert.deepEqual(
      there.processes.map(({ cwd }) => cwd),
      ["profile" in options && options.profile === "bare" ? "/srv/app" : "/srv/app/app", "/srv/app"],
    );
  }
});

test("the modules of plugins are found from everywhere", () => {
  const plugins = [
    { url: "./slack.js" },
    { url: "~/mine.js" },
    { url: "https://host/x@1.0.0.mjs" },
    { url: "procman/otlp", options: { endpoint: "http://x" } },
  ];
  const sources = (config: Configuration, cwd: string): unknown =>
    resolveConfiguration(config, { cwd }).plugins.map(({ source }) => source);
  const config = { processes: [], plugins };
  assert.deepEqual(sources(withAbsolutePaths(config, "/srv/app"), "/somewhere/else"), sources(config, "/srv/app"));
});

test("the type of a configuration allows what the schema allows", () => {
  const asWritten: Configuration = { processes: [] } satisfies RawConfig as RawConfig;
  const keys: Record<keyof RawConfig, true> & Record<keyof Configuration, true> = {
    $schema: true,
    name: true,
    defaults: true,
    processes: true,
    include: true,
    logger: true,
    watcher: true,
    profiles: true,
    env: true,
    envFile: true,
    plugins: true,
    releases: true,
    api: true,
    terminateGracePeriod: true,
    terminateTimeout: true,
    timeZone: true,
    portRange: true,
  };
  const process: Record<keyof RawConfig["processes"][number], true> = {} as Record<
    keyof Configuration["processes"][number],
    true
  >;
  const back: Record<keyof Configuration["processes"][number], true> = process;
  assert.deepEqual([asWritten, Object.keys(keys).length, back], [{ processes: [] }, 17, {}]);
});
