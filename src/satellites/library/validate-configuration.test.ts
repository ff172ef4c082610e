/** What `validateConfiguration` returns can be checked and run again, and means the same. Spec 1, 8. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import type { Configuration } from "../../../generated/configuration.ts";
import { anyConfiguration, inheritingConfiguration } from "../../../test/support/arbitrary-configuration.ts";
import { withAbsolutePaths } from "../../core/config/absolute-paths.ts";
import { API, type RawConfig, TOP } from "../../core/config/config-schema.ts";
import { CLUSTER } from "../../core/config/fields/cluster-fields.ts";
import type { Fields } from "../../core/config/fields/field.ts";
import { LOGGER, ROTATION } from "../../core/config/fields/logger-fields.ts";
import { HEALTH, READY } from "../../core/config/fields/probe-fields.ts";
import { PROCESS } from "../../core/config/fields/process-fields.ts";
import { WATCHER } from "../../core/config/fields/watcher-fields.ts";
import { ConfigurationError } from "../../core/config/problems.ts";
import { type CheckOptions, resolveConfiguration } from "../../core/config/validate.ts";
import { type CompleteConfiguration, validateConfiguration } from "./validate-configuration.ts";

const VALID_RUNS = 50;

/** What the service makes of it, or why it is refused. Left out are the places in the text, and what only names a folder or profile. */
function meaning(config: unknown, options: CheckOptions): unknown {
  try {
    const resolved = resolveConfiguration(config, { cwd: "/srv/app", ...options });
    const { profile: _profile, stateDir: _state, plugins, warnings, ...rest } = resolved;
    return {
      ...rest,
      plugins: plugins.map(({ url: _url, ...plugin }) => plugin),
      warnings: warnings.map(({ message }) => message),
    };
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.problems.map(({ path }) => path);
  }
}

/** A "${" that stays as it is has a warning; in an absolute path it is written as procman asks for it. */
function withoutWarnings(meant: unknown): unknown {
  return Array.isArray(meant) ? meant : { ...(meant as object), warnings: [] };
}

function isValid(config: unknown, options: CheckOptions = {}): boolean {
  return !Array.isArray(meaning(config, options));
}

/** For each of so many valid configurations; about a third of the generated ones are. */
function forValid(check: (config: RawConfig, profiles: readonly (string | undefined)[]) => void): void {
  fc.assert(
    fc.property(anyConfiguration, (config) => {
      fc.pre(isValid(config));
      check(config, config.profiles === undefined ? [undefined] : [undefined, "ci"]);
    }),
    { numRuns: VALID_RUNS },
  );
}

test("1 a configuration that was validated is validated to itself, from data and from text, with and without profile", () => {
  forValid((config, profiles) => {
    for (const profile of profiles) {
      const options = profile === undefined ? {} : { profile };
      if (!isValid(config, options)) continue;
      const once = validateConfiguration(config, options);
      assert.deepEqual(validateConfiguration(once, options), once);
      assert.deepEqual(validateConfiguration(JSON.stringify(config), options), once);
      assert.deepEqual(validateConfiguration(JSON.stringify(once), options), once);
    }
  });
});

test("1 a configuration that was validated makes the same specifications and warnings as the original, with each profile", () => {
  forValid((config, profiles) => {
    const complete = validateConfiguration(config);
    for (const profile of profiles) {
      const options = profile === undefined ? {} : { profile };
      assert.deepEqual(meaning(complete, options), meaning(config, options));
      if (isValid(config, options))
        assert.deepEqual(meaning(validateConfiguration(config, options), {}), meaning(config, options));
    }
  });
});

test("1 relative paths of a configuration object resolve from the caller's folder, those of its profiles too", () => {
  forValid((config, profiles) => {
    const absolute = withAbsolutePaths(validateConfiguration(config) as Configuration, "/srv/app");
    for (const profile of profiles) {
      const options = profile === undefined ? {} : { profile };
      const there = meaning(absolute, { ...options, cwd: "/srv/app/.procman/shop" });
      assert.deepEqual(withoutWarnings(there), withoutWarnings(meaning(config, options)));
    }
  });
});

test("1 what processes inherit is written out: validated again it is the same, and it means the same from elsewhere", () => {
  // A problem has another place there, and a warning about several processes comes once for each.
  const meant = (config: unknown, options: CheckOptions): unknown =>
    isValid(config, options) ? withoutWarnings(meaning(config, options)) : "invalid";
  fc.assert(
    fc.property(inheritingConfiguration, (config) => {
      fc.pre(isValid(config));
      const once = validateConfiguration(config);
      assert.deepEqual(validateConfiguration(once), once);
      const absolute = withAbsolutePaths(config as Configuration, "/srv/app");
      for (const options of config.profiles === undefined ? [{}] : [{}, { profile: "ci" }]) {
        const expected = meant(config, options);
        assert.deepEqual(meant(once, options), expected);
        assert.deepEqual(meant(absolute, { ...options, cwd: "/srv/app/.procman/shop" }), expected);
      }
    }),
    { numRuns: 20 },
  );
});

test("1 every default of the tables is filled in; what is written stays, and so does a relative path", () => {
  const process = { id: "web", cmd: "x", cwd: "app", ready: { log: "up" }, health: { exec: "true" } };
  const cluster = { instances: 2, startPort: 3000, commonPort: 8000 };
  const config = validateConfiguration({ processes: [{ ...process, cluster }] });
  const { processes, logger, watcher, api, ...top } = config;
  const { ready, health, cluster: filled, ...rest } = processes[0] ?? assert.fail();
  const { rotate, ...lines } = logger;
  assert.deepEqual(top, defaults(TOP));
  assert.deepEqual(lines, defaults(LOGGER));
  assert.deepEqual([rotate, watcher, api], [defaults(ROTATION), defaults(WATCHER), defaults(API)]);
  assert.deepEqual(rest, { id: "web", cmd: "x", cwd: "app", ...defaults(PROCESS) });
  assert.deepEqual(ready, { log: "up", ...defaults(READY) });
  assert.deepEqual(health, { exec: "true", ...defaults(HEALTH) });
  assert.deepEqual(filled, { ...cluster, ...defaults(CLUSTER) });
  assert.throws(() => Object.assign(config.processes, { 0: undefined }), TypeError, "it is frozen");
});

test("1 warnings are reported to the caller", () => {
  const warnings: string[] = [];
  validateConfiguration(
    { processes: [{ id: "web", cmd: "x" }] },
    { onWarning: ({ message }) => void warnings.push(message) },
  );
  assert.match(warnings.join("\n"), /^No start policy: "web" is only started manually/);
});

function defaults(fields: Fields): object {
  const entries = Object.entries(fields).flatMap(([name, field]) =>
    field.default === undefined ? [] : [[name, field.default]],
  );
  return Object.fromEntries(entries);
}

/** Names of the fields with a default. */
type Defaults<Rows extends Fields> = {
  [Name in keyof Rows]: Rows[Name] extends { readonly default: unknown } ? Name : never;
}[keyof Rows];
/** Names of the fields that always have a value. */
type Present<Part> = { [Name in keyof Part]-?: undefined extends Part[Name] ? never : Name }[keyof Part];
type Same<One, Other> = [One] extends [Other] ? ([Other] extends [One] ? true : false) : false;
type Process = CompleteConfiguration["processes"][number];
type Api = Exclude<CompleteConfiguration["api"], false>;
type Rotation = Exclude<CompleteConfiguration["logger"]["rotate"], false>;

test("the type of a validated configuration has the fields with a default, and is a configuration", () => {
  const isRight: readonly true[] = [
    true satisfies Same<
      Present<CompleteConfiguration>,
      Defaults<typeof TOP> | "processes" | "logger" | "watcher" | "api"
    >,
    true satisfies Same<Present<Process>, Defaults<typeof PROCESS> | "id">,
    true satisfies Same<Present<NonNullable<Process["ready"]>>, Defaults<typeof READY>>,
    true satisfies Same<Present<NonNullable<Process["health"]>>, Defaults<typeof HEALTH>>,
    true satisfies Same<Present<CompleteConfiguration["logger"]>, Defaults<typeof LOGGER> | "rotate">,
    true satisfies Same<Present<Rotation>, Defaults<typeof ROTATION>>,
    true satisfies Same<Present<CompleteConfiguration["watcher"]>, Defaults<typeof WATCHER>>,
    true satisfies Same<Present<Api>, Defaults<typeof API>>,
  ];
  const again: Configuration = validateConfiguration({ processes: [] });
  assert.ok(isRight.every(Boolean) && again.processes.length === 0);
});

/** Data that no file can have, each with a part of its message. */
const STRANGE: readonly (readonly [string, () => unknown, RegExp])[] = [
  ["a Map", () => new Map([["A", "1"]]), /Found "Map", an object with content/],
  ["a Set", () => new Set(["A"]), /Found "Set"/],
  ["a Date", () => new Date(0), /Found "Date"/],
  ["bytes", () => new Uint8Array(2), /Found "Uint8Array"/],
  ["a BigInt", () => 1n, /Found 1n, a BigInt/],
  ["a symbol", () => Symbol("x"), /Found a symbol/],
  ["a function", () => () => "x", /Found a function/],
  ["a revoked proxy", revokedProxy, /can't be read \(.*revoked/],
  [
    "a getter that throws",
    () => ({
      get A() {
        throw new Error("no");
      },
    }),
    /can't be read \(no\)/,
  ],
  ["a list with a gap", () => new Array(3), /Found a list with a gap/],
  ["a cycle", cycle, /contains itself/],
  ["a deep object", () => deep(20_000), /nested too deeply/],
  ["a deep list", () => Array.from({ length: 20_000 }).reduce<unknown>((inside) => [inside], 1), /nested too deeply/],
];

function revokedProxy(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

function cycle(): unknown {
  const self: Record<string, unknown> = {};
  self.self = { self };
  return self;
}

function deep(levels: number): unknown {
  let inside: unknown = 1;
  for (let level = 0; level < levels; level += 1) inside = { inside };
  return inside;
}

/** 2 to the power of 40 values, by 40 lists. */
function shared(): unknown {
  let list: unknown = 1;
  for (let level = 0; level < 40; level += 1) list = [list, list];
  return list;
}

const PLACES: Readonly<Record<string, (value: unknown) => unknown>> = {
  itself: (value) => value,
  processes: (value) => ({ processes: value }),
  "a process": (value) => ({ processes: [value] }),
  env: (value) => ({ processes: [{ id: "a", cmd: "x", env: value }] }),
  options: (value) => ({ processes: [], plugins: [{ url: "./a.mjs", options: value }] }),
  "a profile": (value) => ({ processes: [], profiles: { p: value } }),
  "a cmd": (value) => ({ processes: [{ id: "a", cmd: value }] }),
};

test("1.8: whatever data is given, it is refused by a ConfigurationError with the place", () => {
  for (const [what, make, message] of STRANGE)
    for (const [place, within] of Object.entries(PLACES))
      assert.throws(
        () => validateConfiguration(within(make()), { allProfiles: true }),
        (error) =>
          error instanceof ConfigurationError && error.problems.some((problem) => message.test(problem.message)),
        `${what} as ${place}`,
      );
});

test("1.8: a few lists that are used again and again are not an endless configuration", () => {
  assert.throws(
    () => validateConfiguration({ processes: shared() }),
    /processes.*\n {2}Found more than 1000000 values; give fewer\./,
  );
});

test("1.8: no data makes it throw another error", () => {
  const anything = fc.anything({
    ...{
      withBigInt: true,
      withBoxedValues: true,
      withDate: true,
      withMap: true,
      withNullPrototype: true,
      withObjectString: true,
    },
    ...{ withSet: true, withSparseArray: true, withTypedArray: true, withUnicodeString: true },
  });
  fc.assert(
    fc.property(anything, fc.constantFrom(...Object.values(PLACES)), (value, within) => {
      try {
        validateConfiguration(within(value), { allProfiles: true });
      } catch (error) {
        assert.ok(error instanceof ConfigurationError && error.problems.length > 0, String(error));
      }
    }),
    { numRuns: 2_000 },
  );
});

test("1.8: an instance of a class counts by its members, an object of another realm as one of this", () => {
  class Web {
    id = "web";
    cmd = "x";
  }
  const foreign: unknown = runInNewContext('({ processes: [{ id: "web", cmd: "x", env: { A: "1" } }] })');
  assert.equal(validateConfiguration({ processes: [new Web()] }).processes[0]?.id, "web");
  assert.deepEqual(validateConfiguration(foreign).processes[0]?.env, { A: "1" });
});
