/** Levels that lines say of themselves. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { severityNamed, severityNumbered } from "../contract/levels.ts";
import { SEVERITIES } from "../contract/records.ts";
import { levelOf } from "./line-level.ts";

function said(line: string | Buffer): string | undefined {
  // In the middle of a block, as in the store.
  const before = '{"level":"error"}\n';
  const bytes = Buffer.concat([Buffer.from(before), Buffer.from(line), Buffer.from('\n{"level":"debug"}\n')]);
  return SEVERITIES[levelOf(bytes, before.length, before.length + Buffer.byteLength(line))];
}

test("a line of each logging library says its level", () => {
  const lines: Readonly<Record<string, readonly string[]>> = {
    pino: ['{"level":50,"time":1,"pid":7,"msg":"x"}', "error"],
    "pino, level as a name": ['{"level":"trace","msg":"x"}', "debug"],
    bunyan: ['{"name":"shop","hostname":"a","pid":1,"level":40,"msg":"x","v":0}', "warn"],
    winston: ['{"message":"a \\"level\\":\\"error\\" within","level":"verbose"}', "debug"],
    zap: ['{"level":"dpanic","ts":1.5,"caller":"a.go:1","msg":"x"}', "error"],
    zerolog: ['{"level":"fatal","time":"2026-11-27T10:00:00Z","message":"x"}', "error"],
    slog: ['{"time":"2026-11-27T10:00:00Z","level":"WARN+1","msg":"x"}', "warn"],
    "slog below debug": ['{"time":"x","level":"DEBUG-4"}', "debug"],
    structlog: ['{"event": "x", "user": {"level": "error"}, "level": "warning"}', "warn"],
    log4j: ['{"instant":{"epochSecond":1},"thread":"main","level":"FATAL","loggerName":"a"}', "error"],
    "ECS, dotted": ['{"@timestamp":"x","log.level": "ERROR","message":"x"}', "error"],
    "ECS, nested": ['{"@timestamp":"x","log":{"logger":"a","level":"WARN"}}', "warn"],
    "Google Cloud": ['{"severity":"NOTICE","message":"x"}', "info"],
    "GELF (syslog)": ['{"version":"1.1","host":"a","short_message":"x","level":3}', "error"],
    Monolog: ['{"message":"x","context":[],"level":300,"level_name":"WARNING"}', "warn"],
    Serilog: ['{"@t":"x","@mt":"x","@l":"Warning"}', "warn"],
    ".NET": ['{"EventId":0,"LogLevel":"Critical","Category":"a"}', "error"],
    "python-json-logger": ['{"asctime":"x","levelname":"CRITICAL"}', "error"],
    lvl: ['{"lvl":"dbg"}', "debug"],
    "a number as a text": ['{"level":"30"}', "info"],
    systemd: ["<4>disk is nearly full", "warn"],
    "systemd with a facility": ["<30>started", "info"],
  };
  for (const [library, [line = "", level]] of Object.entries(lines)) assert.equal(said(line), level, library);
});

test("the first member with a known level counts, whatever else has that name", () => {
  assert.equal(said('{"level":{"name":"error"},"severity":"WARN"}'), "warn", "a level that is an object");
  assert.equal(said('{"level":["error"],"lvl":"info"}'), "info");
  assert.equal(said('{"level":null,"severity":"error"}'), "error");
  assert.equal(said('{"level":"gold","severity":"error"}'), "error");
  assert.equal(said('{"level":50,"severity":"info"}'), "error");
});

test("a line that says no level has none", () => {
  for (const line of [
    "",
    "{",
    "<",
    "{}",
    "error",
    "level=error",
    'text {"level":"error"}',
    '["level","error"]',
    '{"msg":"level"}',
    '{"level":{"level":"error"}}',
    '{"user":{"level":"error"}}',
    '{"log":{"log":{"level":"error"}}}',
    '{"level":"errors"}',
    '{"level":"informationerror"}',
    '{"level":"error now"}',
    '{"level":""}',
    '{"level":-1}',
    '{"level":8}',
    '{"level":1e9}',
    '{"level":700}',
    '{"level":true}',
    '{"level"',
    '{"level":',
    '{"lev',
    "<192>x",
    "<>x",
    "<a>x",
    "<4",
    "<div>",
  ])
    assert.equal(said(line), undefined, line);
});

test("depth, length, a missing end and broken UTF-8 don't matter", () => {
  const deep = "[".repeat(10_000);
  assert.equal(said(`{"a":${deep}${"]".repeat(10_000)},"level":"warn"}`), "warn");
  assert.equal(said(`{"level":"warn","a":${deep}`), "warn");
  assert.equal(said(`{"a":${deep}`), undefined);
  assert.equal(said(`{${'"log":{'.repeat(10_000)}`), undefined);
  assert.equal(said(`{"msg":"${"x".repeat(1_000_000)}","level":"error"}`), "error");
  assert.equal(
    said(Buffer.from([...Buffer.from('{"msg":"'), 0xff, 0xc3, ...Buffer.from('","level":"error"}')])),
    "error",
  );
});

test("of any JSON object it finds what a parser finds", () => {
  const name = fc.constantFrom("level", "severity", "lvl", "log", "log.level", "msg", "a", 'q"', "\\", "Level");
  const scalar = fc.constantFrom(
    "error",
    "WARN",
    "x",
    "INFO+2",
    "30",
    '"',
    "\\",
    "}",
    50,
    3,
    8,
    null,
    true,
    "ä",
    "level",
  );
  const value = fc.oneof(scalar, fc.array(scalar, { maxLength: 3 }), fc.dictionary(name, scalar, { maxKeys: 3 }));
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value), { maxLength: 6 }), fc.constantFrom(0, 1), (members, spaces) => {
      const line = JSON.stringify(Object.fromEntries(members), undefined, spaces).replaceAll("\n", " ");
      assert.equal(said(line), expected(JSON.parse(line)), line);
    }),
  );
});

const KEYS = ["level", "severity", "lvl", "log.level"];

function expected(object: object, isOutermost = true): string | undefined {
  for (const [key, value] of Object.entries(object)) {
    const isParent =
      isOutermost && key === "log" && typeof value === "object" && value !== null && !Array.isArray(value);
    const level = isParent
      ? expected(value, false)
      : !KEYS.includes(key.toLowerCase())
        ? undefined
        : typeof value === "number"
          ? severityNumbered(value)
          : typeof value === "string"
            ? severityNamed(value)
            : undefined;
    if (level !== undefined) return level;
  }
  return undefined;
}
