/** The soak's schedule follows from its seed, and its verdict can fail. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Window } from "../soak/soak-account.ts";
import { assessSamples } from "../soak/soak-analysis.ts";
import { curvesSvg } from "../soak/soak-curves.ts";
import { PARTS, type PartSample, type Sample } from "../soak/soak-sampler.ts";
import { phaseAt, phasesOf, scheduleOf } from "../soak/soak-schedule.ts";
import { unexpectedIn } from "../soak/soak-warnings.ts";
import { growthOf, type Point, trendOf } from "../soak/trend.ts";
import { SeededRandom } from "../support/seeded-random.ts";

describe("the schedule of a soak", () => {
  test("the same seed gives the same schedule, another seed another one", () => {
    assert.deepEqual(scheduleOf({ seed: 7, minutes: 30 }), scheduleOf({ seed: 7, minutes: 30 }));
    assert.notDeepEqual(scheduleOf({ seed: 7, minutes: 30 }), scheduleOf({ seed: 8, minutes: 30 }));
  });

  test("in ten minutes each kind of step happens; nothing happens at rest, and kills happen in their phase alone", () => {
    const [steps, spans] = [scheduleOf({ seed: 1, minutes: 10 }), phasesOf(10)];
    const kinds = [
      "request",
      "stream",
      "dashboard",
      "command",
      "crash",
      "scale",
      "roll",
      "reload",
      "watch",
      "plugin",
      "flood",
      "disk",
      "kill",
    ];
    assert.deepEqual(
      kinds.filter((kind) => steps.every((step) => step.kind !== kind)),
      [],
    );
    for (const { at, kind } of steps) {
      const phase = phaseAt(spans, at);
      assert.notEqual(phase, "rest", kind);
      if (["kill", "upgrade", "settle"].includes(kind)) assert.equal(phase, "kills");
      if (kind === "disk") assert.equal(phase, "load");
    }
  });

  test("two hours are four cycles, each with a rest before it and one full disk", () => {
    const spans = phasesOf(120);
    assert.equal(spans.filter(({ phase }) => phase === "kills").length, 4);
    assert.equal(spans.at(-1)?.phase, "rest");
    assert.ok(Math.abs((spans.at(-1)?.to ?? 0) - 7_200_000) < 1);
    assert.equal(scheduleOf({ seed: 3, minutes: 120 }).filter(({ kind }) => kind === "disk").length, 4);
  });
});

/** Values every 5 s; `noise`: the standard deviation around the line. */
function line(seconds: number, perHour: number, noise: number, random: SeededRandom): readonly Point[] {
  return Array.from({ length: seconds / 5 }, (_, index) => {
    const spread = (random.next() + random.next() + random.next() - 1.5) * 2 * noise;
    return { x: index * 5, y: 10 + (perHour * index * 5) / 3_600 + spread };
  });
}

const WARM_UP_S = 150;

describe("the trend of a value", () => {
  test("values without growth are flat at a limit well above their noise, in at least 97 of 100 cases", () => {
    const verdicts = Array.from({ length: 100 }, (_, seed) =>
      trendOf([line(900, 0, 0.2, new SeededRandom(seed))], WARM_UP_S),
    ).map((trend) => trend && growthOf(trend, 2));
    assert.ok(verdicts.filter((verdict) => verdict === "flat").length >= 97, verdicts.join(" "));
    assert.ok(!verdicts.includes("grows"));
  });

  test("a growth of twice the limit is found, also when several lives begin at other levels", () => {
    for (let seed = 0; seed < 50; seed += 1) {
      const random = new SeededRandom(seed);
      const lives = [0, 1, 2].map((life) =>
        line(800, 4, 0.2, random).map(({ x, y }) => ({ x: x + life * 1_200, y: y - 3 * life })),
      );
      const trend = trendOf(lives, WARM_UP_S);
      assert.equal(trend && growthOf(trend, 2), "grows", `seed ${seed}: ${JSON.stringify(trend)}`);
    }
  });

  test("the growth of a start that warms up doesn't count, and a life that is too short says nothing", () => {
    const warming = line(900, 0, 0.05, new SeededRandom(1)).map(({ x, y }) => ({
      x,
      y: y + Math.min(x, WARM_UP_S) / 20,
    }));
    const trend = trendOf([warming], WARM_UP_S);
    assert.equal(trend && growthOf(trend, 2), "flat");
    assert.equal(trendOf([line(WARM_UP_S + 60, 100, 0.1, new SeededRandom(1))], WARM_UP_S), undefined);
  });

  test("a growth that is about the limit, and varies much, is unknown: neither flat nor growing", () => {
    const verdicts = Array.from({ length: 100 }, (_, seed) =>
      trendOf([line(500, 1, 3, new SeededRandom(seed))], WARM_UP_S),
    ).map((trend) => trend && growthOf(trend, 1));
    assert.ok(verdicts.filter((verdict) => verdict === "unknown").length >= 90, verdicts.join(" "));
  });
});

const MINUTES = 30;

/** A soak without kills; `leak`: what the service has beside the normal, `hours` after the start. */
function soakWith(
  leak: (hours: number) => Partial<PartSample>,
  more: (hours: number) => Partial<Sample> = () => ({}),
): readonly Sample[] {
  const random = new SeededRandom(4);
  const noisy = (value: number, noise: number): number => value + (random.next() - 0.5) * noise;
  const part = (): PartSample => ({
    life: "4711",
    ...{
      rss: noisy(60e6, 2e6),
      heap: noisy(10e6, 3e5),
      descriptors: Math.round(noisy(40, 4)),
      sockets: 5,
      pipes: 12,
      threads: 11,
    },
    ...{ timers: Math.round(noisy(15, 6)), cpuSeconds: 1 },
  });
  return Array.from({ length: MINUTES * 12 }, (_, index) => {
    const hours = index / 720;
    const parts = Object.fromEntries(PARTS.map((name) => [name, part()]));
    const service = part();
    const leaked = Object.fromEntries(
      Object.entries(leak(hours)).map(([name, by]) => [name, Number(service[name as keyof PartSample]) + Number(by)]),
    );
    const bytes = { logs: 12e6, incidents: 1e6, metrics: 1e6, run: 1e5, other: 1e3 };
    return {
      at: index * 5,
      parts: { ...parts, service: { ...service, ...leaked } },
      processes: 25,
      files: 100,
      fifos: 40,
      bytes,
      ...more(hours),
    };
  });
}

const findingsOf = (samples: readonly Sample[]): readonly string[] =>
  assessSamples(samples, phasesOf(MINUTES)).findings;

describe("the verdict on the samples of a soak", () => {
  test("a sound procman has no finding", () => assert.deepEqual(findingsOf(soakWith(() => ({}))), []));

  for (const [what, leak] of [
    ["live heap", (hours: number) => ({ heap: hours * 3e6 })],
    ["memory", (hours: number) => ({ rss: hours * 24e6 })],
    ["descriptors", (hours: number) => ({ descriptors: Math.floor(hours * 40) })],
    ["sockets", (hours: number) => ({ sockets: Math.floor(hours * 40) })],
    ["threads", (hours: number) => ({ threads: Math.floor(hours * 40) })],
    ["timers", (hours: number) => ({ timers: Math.floor(hours * 60) })],
  ] as const)
    test(`a service that leaks ${what} is found, and nothing else`, () => {
      const findings = findingsOf(soakWith(leak));
      assert.ok(findings.length >= 1);
      for (const finding of findings) assert.ok(finding.startsWith(`growth: service: ${what}`), finding);
    });

  test("a state folder beyond its bounds, and FIFOs that are left behind, are found", () => {
    const bytes = { logs: 12e6, incidents: 1e6, metrics: 1e6, run: 9e6, other: 1e3 };
    assert.match(
      findingsOf(
        soakWith(
          () => ({}),
          () => ({ bytes }),
        ),
      ).join(),
      /^size: MB in run has 9\.0, at most \d+$/,
    );
    const fifos = findingsOf(
      soakWith(
        () => ({}),
        (hours) => ({ fifos: 40 + Math.floor(hours * 60) }),
      ),
    );
    assert.match(fifos.join(), /^growth: FIFOs at rest/);
  });

  test("the picture has a curve for each part in each panel, and is well-formed", () => {
    const svg = curvesSvg(
      soakWith(() => ({})),
      phasesOf(MINUTES),
      [100, 200],
    );
    assert.equal(svg.match(/<polyline class="c0"/g)?.length, 10);
    assert.equal(svg.match(/<polyline class="c3"/g)?.length, 7);
    assert.doesNotMatch(svg, /NaN|undefined|Infinity/);
    assert.equal(svg.match(/<(?:svg|text|style)\b/g)?.length, svg.match(/<\/(?:svg|text|style)>/g)?.length);
  });
});

describe("what procman prints during a soak", () => {
  const entry = (more: object): string =>
    JSON.stringify({ time: new Date(100_000).toISOString(), severity: "warn", category: "service", ...more });
  const killed: readonly Window[] = [{ kind: "kill", what: "service", from: 99_000, to: 100_000 }];

  test("a warning that has no reason is a finding, and so is a line that no part should print", () => {
    const lines = [
      entry({ text: "Something odd" }),
      "TypeError: x is not a function",
      entry({ severity: "info", text: "started" }),
      "",
    ];
    assert.equal(unexpectedIn(lines.join("\n"), []).length, 2);
  });

  test("a warning about a kill is expected only shortly after one", () => {
    const line = entry({ text: "the service ended (SIGKILL); restarting it; the processes keep running" });
    assert.deepEqual(unexpectedIn(line, killed), []);
    assert.equal(unexpectedIn(line, []).length, 1);
  });
});
