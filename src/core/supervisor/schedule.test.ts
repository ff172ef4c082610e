import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FakeClock } from "../../../test/support/fakes.ts";
import { CronTimer, latestTime, missedTimes, nextTime } from "./schedule.ts";
import type { MetTime } from "./snapshot.ts";

const HOUR = 3_600_000;

/** All times of a pattern between two moments, in a time zone (default: the host's). */
function times(pattern: string, from: string, to: string, timeZone?: string): readonly string[] {
  const schedule = { pattern, ...(timeZone === undefined ? {} : { timeZone }) };
  const found: string[] = [];
  for (
    let next = nextTime(schedule, Date.parse(from));
    next !== undefined && next < Date.parse(to);
    next = nextTime(schedule, next)
  )
    found.push(new Date(next).toISOString());
  return found;
}

function inZone(zone: string, call: () => void): void {
  const before = process.env.TZ;
  process.env.TZ = zone;
  try {
    call();
  } finally {
    if (before === undefined) delete process.env.TZ;
    else process.env.TZ = before;
  }
}

test("2.2 cron: patterns use the host's time zone", () => {
  inZone("Asia/Tokyo", () =>
    assert.deepEqual(times("0 9 * * *", "2026-06-01T00:00:00Z", "2026-06-02T12:00:00Z"), ["2026-06-02T00:00:00.000Z"]),
  );
});

test("2.2 cron: a time that daylight saving skips or repeats is met once that day", () => {
  inZone("Europe/Berlin", () => {
    // 2026-03-29: 02:00 is followed by 03:00. 2026-10-25: 03:00 is followed by 02:00.
    const spring = times("30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z");
    assert.equal(spring.length, 2, spring.join(" "));
    const autumn = times("30 2 * * *", "2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z");
    assert.equal(autumn.length, 2, autumn.join(" "));
    const hourly = times("0 * * * *", "2026-03-28T23:30:00Z", "2026-03-29T04:30:00Z");
    assert.equal(hourly.length, 5, hourly.join(" "));
  });
});

test("2.2 cron: in its own time zone a schedule has the hours of that zone, whatever that of the host is", () => {
  for (const host of ["UTC", "Asia/Tokyo", "America/New_York"])
    inZone(host, () => {
      const winter = times("0 3 * * *", "2026-01-10T00:00:00Z", "2026-01-12T00:00:00Z", "Europe/Berlin");
      assert.deepEqual(winter, ["2026-01-10T02:00:00.000Z", "2026-01-11T02:00:00.000Z"], host);
      const india = times("30 9 * * *", "2026-07-10T00:00:00Z", "2026-07-11T00:00:00Z", "Asia/Kolkata");
      assert.deepEqual(india, ["2026-07-10T04:00:00.000Z"], host);
    });
});

test("2.2 cron: in its own time zone an hour that is skipped is met when it is over, one that is repeated the first time", () => {
  const days = (pattern: string, from: string): readonly string[] =>
    times(
      pattern,
      `${from}T12:00:00Z`,
      new Date(Date.parse(`${from}T12:00:00Z`) + 3 * 24 * HOUR).toISOString(),
      "Europe/Berlin",
    );
  inZone("America/New_York", () => {
    // 2026-03-29: 02:00 is followed by 03:00, at 01:00 UTC.
    assert.deepEqual(days("30 2 * * *", "2026-03-27"), [
      "2026-03-28T01:30:00.000Z",
      "2026-03-29T01:00:00.000Z",
      "2026-03-30T00:30:00.000Z",
    ]);
    // 2026-10-25: 03:00 is followed by 02:00, at 01:00 UTC.
    assert.deepEqual(days("30 2 * * *", "2026-10-23"), [
      "2026-10-24T00:30:00.000Z",
      "2026-10-25T00:30:00.000Z",
      "2026-10-26T01:30:00.000Z",
    ]);
  });
  const hourly = times("0 * * * *", "2026-10-24T23:30:00Z", "2026-10-25T03:30:00Z", "Europe/Berlin");
  assert.deepEqual(
    hourly.map((time) => time.slice(11, 16)),
    ["00:00", "01:00", "02:00", "03:00"],
    "each real hour, also the repeated one",
  );
});

test("jitter: each time of a schedule is called later by its delay, once, and named by its pattern's time", () => {
  const clock = new FakeClock();
  const start = clock.wall();
  const calls: (readonly number[])[] = [];
  const due = (planned: number): void => void calls.push([planned - start, clock.wall() - start]);
  const timer = new CronTimer({ pattern: "0 * * * *", delayMs: 600_000 }, clock, { due, moved: () => undefined });
  assert.deepEqual(
    [(timer.next ?? 0) - start, (timer.planned ?? 0) - start],
    [600_000, 0],
    "midnight was ten minutes before",
  );
  clock.advance(2 * HOUR);
  timer.stop();
  assert.deepEqual(calls, [
    [0, 600_000],
    [HOUR, HOUR + 600_000],
  ]);
});

test("2.2 cron: six fields begin with seconds; a pattern without future times has no next time", () => {
  assert.equal(times("*/20 * * * * *", "2026-06-01T00:00:00Z", "2026-06-01T00:01:01Z").length, 3);
  assert.equal(nextTime({ pattern: "0 0 30 2 *" }, Date.parse("2026-01-01")), undefined);
});

test("a stopped schedule makes no calls and holds no timer", () => {
  const clock = new FakeClock();
  const seen: number[] = [];
  const schedule = new CronTimer({ pattern: "* * * * *" }, clock, {
    due: (planned) => seen.push(planned),
    moved: () => undefined,
  });
  clock.advance(60_000);
  assert.equal(seen.length, 1);
  schedule.stop();
  clock.advance(300_000);
  assert.equal(seen.length, 1);
  assert.equal(clock.armed, 0);
});

// The fake clock starts at midnight in this zone.
process.env.TZ = "UTC";

/** A schedule and the times it called for, relative to the start of the clock (midnight, UTC). */
function watched(pattern: string) {
  const clock = new FakeClock();
  const start = clock.wall();
  const seen: number[] = [];
  const moves: number[] = [];
  const schedule = new CronTimer({ pattern }, clock, {
    due: (planned) => seen.push((planned - start) / HOUR),
    moved: () => moves.push((schedule.next ?? Number.NaN) - start),
  });
  return { clock, seen, moves, schedule, next: () => ((schedule.next ?? Number.NaN) - start) / HOUR };
}

test("2.2 cron: a clock set ahead by hours leads to one run, not one for each skipped time", () => {
  const { clock, seen, next } = watched("0 * * * *");
  clock.advance(HOUR);
  clock.jump(5.5 * HOUR);
  clock.advance(60_000);
  assert.deepEqual(seen, [1, 2]);
  assert.equal(next(), 7);
  clock.advance(HOUR);
  assert.deepEqual(seen, [1, 2, 7]);
});

test("2.2 cron: a clock set back by hours leaves no gap in an hourly schedule", () => {
  const { clock, seen, moves } = watched("0 * * * *");
  clock.advance(6 * HOUR);
  clock.jump(-4 * HOUR);
  clock.advance(3 * HOUR);
  assert.deepEqual(seen, [1, 2, 3, 4, 5, 6, 3, 4, 5]);
  assert.equal(moves.length, 1, "a changed next time is reported");
});

test("2.2 cron: a clock set back doesn't repeat a time that was just met", () => {
  for (const back of [5_000, 60_000, 10 * 60_000]) {
    const { clock, seen } = watched("0 * * * *");
    clock.advance(HOUR + 20_000);
    clock.jump(-back);
    clock.advance(HOUR + 2 * back);
    assert.deepEqual(seen, [1, 2], `set back by ${back} ms`);
  }
  const daily = watched("0 1 * * *");
  daily.clock.advance(2 * HOUR);
  daily.clock.jump(-5 * HOUR);
  daily.clock.advance(6 * HOUR);
  assert.deepEqual(daily.seen, [1], "a daily job ran that day already");
  daily.clock.advance(23 * HOUR);
  assert.deepEqual(daily.seen, [1, 25]);
});

test("2.2 cron: with a clock that jumps back and forth, a job of every minute never pauses longer than two minutes", () => {
  const clock = new FakeClock();
  const calls: number[] = [];
  const schedule = new CronTimer({ pattern: "* * * * *" }, clock, {
    due: () => calls.push(clock.now()),
    moved: () => undefined,
  });
  const start = clock.now();
  for (const jump of [3 * HOUR, -2 * HOUR, -90_000, 40_000, -30_000, -24 * HOUR, 24 * HOUR]) {
    clock.jump(jump);
    clock.advance(5 * 60_000);
  }
  const pauses = [start, ...calls].map((at, index, all) => (all[index + 1] ?? clock.now()) - at);
  assert.ok(Math.max(...pauses) <= 120_000, pauses.join(" "));
  // Each forward jump may advance one run; all others must be at least half a minute apart.
  assert.ok(pauses.slice(1).filter((pause) => pause < 30_000).length <= 3, pauses.join(" "));
  schedule.stop();
  assert.equal(clock.armed, 0);
});

test("missed times are counted up to a limit", () => {
  const at = (time: string): number => Date.parse(`2026-06-01T${time}Z`);
  inZone("UTC", () => {
    const hourly = missedTimes({ pattern: "0 * * * *" }, at("10:00:00"), at("14:30:00"), 1_000);
    assert.deepEqual(hourly, { first: at("10:00:00"), last: at("14:00:00"), times: 5 });
    assert.deepEqual(missedTimes({ pattern: "0 * * * *" }, at("10:00:00"), at("10:00:00"), 1_000).times, 1);
    assert.deepEqual(missedTimes({ pattern: "* * * * * *" }, at("10:00:00"), at("20:00:00"), 1_000).times, 1_000);
  });
});

const STEPS = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant("advance" as const), ms: fc.integer({ min: 1, max: 5_000 }) }),
    fc.record({ kind: fc.constant("jump" as const), ms: fc.integer({ min: -5 * HOUR, max: 5 * HOUR }) }),
    fc.record({ kind: fc.constant("restart" as const), ms: fc.integer({ min: 0, max: 3_000 }) }),
    fc.record({ kind: fc.constant("step" as const), ms: fc.integer({ min: -1_500, max: 1_500 }) }),
  ),
  { maxLength: 40 },
);

test("2.2 cron: a schedule never starts twice for one second, over jumps of the clock and restarts of the service", () => {
  fc.assert(
    fc.property(STEPS, fc.constantFrom("* * * * * *", "*/5 * * * * *"), (steps, pattern) => {
      const clock = new FakeClock();
      const calls: { readonly planned: number; readonly at: number }[] = [];
      const begin = (met?: MetTime): CronTimer =>
        new CronTimer(
          { pattern },
          clock,
          { due: (planned) => calls.push({ planned, at: clock.now() }), moved: () => undefined },
          { met },
        );
      let timer = begin();
      for (const { kind, ms } of steps) {
        if (kind === "jump" || kind === "step") clock.jump(ms);
        if (kind === "advance") clock.advance(ms);
        if (kind === "jump") clock.advance(1_000);
        if (kind !== "restart") continue;
        // The next service has what the one before has noted.
        const { met } = timer;
        timer.stop();
        clock.advance(ms);
        timer = begin(met);
      }
      timer.stop();
      for (const [index, { planned, at }] of calls.entries()) {
        const again = calls.slice(0, index).findLast((each) => each.planned === planned);
        // The clock has shown that second twice: then a second, and half an interval, has really passed.
        assert.ok(
          again === undefined || at - again.at >= 1_000,
          `${new Date(planned).toISOString()} twice within ${at - (again?.at ?? 0)} ms`,
        );
      }
      assert.equal(clock.armed, 0);
    }),
    { numRuns: 300 },
  );
});

test("2.2 cron: a clock set back by less than an interval between two services doesn't repeat a time", () => {
  const { clock, seen, schedule } = watched("* * * * * *");
  clock.advance(1_010);
  schedule.stop();
  clock.jump(-500);
  const again: number[] = [];
  const start = clock.wall() - 510;
  const next = new CronTimer(
    { pattern: "* * * * * *" },
    clock,
    { due: (planned) => again.push(planned - start), moved: () => undefined },
    schedule,
  );
  clock.advance(2_000);
  assert.deepEqual([seen.length, again], [1, [2_000]]);
  next.stop();
});

test("2.2 cron: a noted time of another boot, later than the monotonic clock, holds up nothing", () => {
  const clock = new FakeClock();
  const met = { planned: clock.wall() + HOUR, at: clock.now() + HOUR };
  const timer = new CronTimer(
    { pattern: "* * * * * *" },
    clock,
    { due: () => undefined, moved: () => undefined },
    { met },
  );
  assert.equal(timer.next, clock.wall() + 1_000);
  timer.stop();
});

test("2.2 cron: without a jump back each planned second comes once and in order, also over daylight saving", () => {
  inZone("Europe/Berlin", () => {
    // 2026-03-29: 02:00 is followed by 03:00. 2026-10-25: 03:00 is followed by 02:00.
    for (const [from, to] of [
      ["2026-03-29T00:58:00Z", "2026-03-29T01:02:00Z"],
      ["2026-10-24T23:58:00Z", "2026-10-25T01:02:00Z"],
    ] as const) {
      const found = times("*/10 * * * * *", from, to).map((time) => Date.parse(time));
      assert.deepEqual(
        found,
        [...new Set(found)].sort((one, other) => one - other),
      );
      assert.ok(found.length > 20);
    }
  });
});

test("the latest time of a schedule is the one that it is now, or the one before; a pattern without past times has none", () => {
  const latest = (pattern: string, now: string): string | undefined => {
    const at = latestTime({ pattern, timeZone: "UTC" }, Date.parse(now));
    return at === undefined ? undefined : new Date(at).toISOString();
  };
  assert.equal(latest("0 8 * * 1-5", "2026-11-27T07:59:59.999Z"), "2026-11-26T08:00:00.000Z");
  assert.equal(latest("0 8 * * 1-5", "2026-11-27T08:00:00.000Z"), "2026-11-27T08:00:00.000Z");
  assert.equal(latest("0 8 * * 1-5", "2026-11-29T12:00:00.000Z"), "2026-11-27T08:00:00.000Z");
  assert.equal(latest("0 0 8 1 1 * 2030", "2026-11-27T08:00:00.000Z"), undefined);
});
