/** Services of compose: what a program sees after an import is what `docker-compose config` says of the same file. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { parse } from "yaml";
import { procman } from "../support/cli.ts";
import { folderOfFiles } from "../support/import-rig.ts";
import { PeerRig, WRITE_DOWN } from "../support/peer-rig.ts";
import { cleanEnvironment } from "../support/procman-process.ts";
import { isMissing } from "../support/system-programs.ts";

type Resolved = {
  readonly command: string | readonly string[];
  readonly environment?: Readonly<Record<string, string | number | null>>;
};

/** Arguments behind the name of the service, and what else it has. */
const SERVICES: Readonly<Record<string, readonly [args: string, ...lines: readonly string[]]>> = {
  words: ["--all 'two words' \"x y\" a='b c'"],
  quotes: ['"it\'s" \'a "b"\' a\\ b \\\\'],
  signs: ["* ~ ; | && > # !x {a,b}"],
  dollar: ["'$$HOME' $$5 \"$$$$\""],
  variable: ['$SET ${SET} x${SET}y "${TWO_WORDS}"'],
  unset: ["a${UNSET}b $UNSET c"],
  fallback: ["${UNSET:-x y} ${UNSET-dash} ${EMPTY:-colon} ${EMPTY-kept}"],
  dotenv: ["$FROM_DOTENV ${HASH}"],
  hash: ["${HASH} a#b"],
  text: ["x", 'environment: { A: "1,2", B: "a b", C: "", D: "=" }'],
  numbers: ["x", "environment: { A: 1, B: 0, C: 1.25, D: -7 }"],
  list: ["x", 'environment: [A=1, "B=two words", C=, "D=a=b"]'],
  escaped: ["x", 'environment: { A: "$$5", B: "$${SET}", C: "a $$$$ b" }'],
  references: ["x", 'environment: { A: "${SET}/${UNSET}/${UNSET:-d}", B: "$FROM_DOTENV" }'],
  empty: ["x", 'environment: { A: "${UNSET}", B: "${EMPTY}", C: "${EMPTY:-full}" }'],
  inherited: ["x", "environment: [SET, FROM_DOTENV, UNSET]"],
  file: ["x", "env_file: common.env"],
  files: ["x", "env_file: [common.env, more.env]"],
  overridden: ["x", "env_file: common.env", "environment: { PLAIN: own }"],
  extended: ["x", "extends: { service: base }", "environment: { OWN: 1 }"],
  braces: ["x", 'environment: { A: "{port}", B: "{{x}}", C: "%(x)s" }'],
  json: ["x", 'environment: { A: \'{"a": [1, "b"]}\' }'],
  unicode: ["ä €", 'environment: { A: "ä €" }'],
  lines: ["x", 'environment: { A: "one\\ntwo" }'],
  replaced: ["x", "environment: { PORT: 3000 }"],
};
const FILES = {
  ".env": "FROM_DOTENV=dot\nHASH=p#ss\nTWO_WORDS='a b'\nPORT=9999\n",
  "common.env": "PLAIN=plain\nQUOTED=\"a b\"\nSINGLE='c d'\nHASHED=p#ss\n# a comment\nEMPTIED=\nEQUALS=a=b\n",
  "more.env": "PLAIN=later\nURL=http://x/?a=1&b=2\n",
};
const OUTER = { SET: "outer", EMPTY: "" };

function composeFile(): string {
  const services = Object.entries(SERVICES).map(([name, [args, ...lines]]) => {
    const command = JSON.stringify(`node ${WRITE_DOWN} ${name} ${args}`);
    return [`  ${name}:`, "    build: .", `    command: ${command}`, ...lines.map((line) => `    ${line}`)].join("\n");
  });
  return `version: "3.9"\nservices:\n  base: { build: ., command: "true", environment: { BASE: base, OWN: 0 } }\n${services.join("\n")}\n`;
}

/** Words as docker-compose, which is written in Python, splits them. */
function wordsOf(command: string | readonly string[]): readonly string[] {
  const program = "import json, shlex, sys; print(json.dumps(shlex.split(sys.argv[1])))";
  const words =
    typeof command === "string"
      ? (JSON.parse(execFileSync("python3", ["-c", program, command], { encoding: "utf8" })) as readonly string[])
      : command;
  return words.map((word) => word.replaceAll("$$", "$"));
}

test("compose: words, variables and env files are those that docker-compose finds in the same file", async (context) => {
  if (isMissing(context, "docker-compose") || isMissing(context, "python3")) return;
  const rig: PeerRig = new PeerRig(
    folderOfFiles(context, { "compose.yaml": composeFile(), ...FILES }, () => rig.end()),
  );
  const env = cleanEnvironment(OUTER);
  const config = execFileSync("docker-compose", ["-f", "compose.yaml", "config"], {
    cwd: rig.folder,
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const { services } = parse(config, { version: "1.1" }) as { readonly services: Readonly<Record<string, Resolved>> };
  const imported = await procman(rig.folder, ["import", "compose.yaml"], OUTER);
  assert.equal(imported.code, 0, imported.err);
  Object.assign(process.env, OUTER);
  const counts = Object.fromEntries(Object.keys(SERVICES).map((name) => [name, 1]));
  try {
    await rig.underProcman(counts, counts);
  } finally {
    for (const name of Object.keys(OUTER)) delete process.env[name];
  }
  for (const name of Object.keys(SERVICES)) {
    const [seen] = rig.seen("procman", name);
    const { command = "", environment = {} } = services[name] ?? {};
    assert.deepEqual(seen?.args, wordsOf(command).slice(3), `arguments of ${name}`);
    for (const [variable, value] of Object.entries(environment))
      assert.equal(
        seen?.env?.[variable],
        value === null ? undefined : String(value).replaceAll("$$", "$"),
        `${variable} of ${name}`,
      );
  }
});
