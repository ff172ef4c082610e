/** Random command lines, each run by `sh -c` and as procman runs it. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { parseCommandLine } from "../../src/core/base/command-line.ts";
import { SeededRandom } from "../support/seeded-random.ts";

const CASES = Number(process.env.PROCMAN_TEST_LINES ?? 60);
const SEED = 18;

const root = mkdtempSync(join(tmpdir(), "procman-lines-"));
after(() => rmSync(root, { recursive: true }));

const [bin, folder, pids] = ["bin", "work", "pids"].map((name) => join(root, name)) as [string, string, string];
mkdirSync(bin);
/** Prints what it is started with, and ends with the code that its first argument names. Its pid goes to a file. */
writeFileSync(
  join(bin, "show"),
  `#!/bin/sh
echo "\${0##*/} $$" >> ${pids}
code=\${1#code=} given=$PATH PATH=/usr/bin:/bin
echo error >&2
(: >&3) 2>/dev/null && echo three >&3
printf '[%s]' "\${0##*/}" "$(umask)" "$given" "$@"; echo
cat
env | grep -v '^_=' | grep -v '^SHLVL=' | grep -v '^PATH=' | sort
case $1 in code=*) exit $code ;; esac
`,
);
chmodSync(join(bin, "show"), 0o755);
for (const name of ["program", "my program", "code"]) symlinkSync("show", join(bin, name));

/** What may come before the last command. */
const BEFORE = [
  ..."true|false|cd sub|cd missing|A=1|A=1 B=$A|export E=2|E='a b'|show x|show code=3|umask 027|set -e|set -eu|set -x|set +e".split(
    "|",
  ),
  ..."trap 'echo trapped' EXIT|. ./lib.sh|show p \\| cat|show p \\| show code=4|echo hi|exec >log|exec 2>&1|exec show q|exec missing|read E < in|exit 4".split(
    "|",
  ),
  ..."$EMPTY show|eval 'program() { echo f; }'|program() { echo g; }|alias program=echo|test -f in|[ -f none ]|unset HOME".split(
    "|",
  ),
  ..."PATH=$PATH:/x|unset -f program|IFS=:|if true; then show y; fi|(exit 3)|show &|wait|command cd sub|time show|! true".split(
    "|",
  ),
  ...'"$BIN/show" q|~/show|for i in 1 2; do show $i; done|{ show z; }|>made|cat <<E\ntext\nE|# comment\ntrue|shift|hash show'.split(
    "|",
  ),
].map((line) => line.replaceAll("\\|", "|"));
const BETWEEN = [" && ", " && ", " && ", "; ", "\n", " || ", " | ", ";", "&&", " & ", ";; ", " &&\n  "];
/** Before the program. */
const ASSIGNED =
  'A=1|B=$A|C="a b"|D=$(echo x)|D=`echo $A`|PATH=$PATH:/x|E=\'q"q\'|IFS=:|F=~|G="$(echo "r s")"|A=|H=a\\ b|PATH=/none'.split(
    "|",
  );
const PROGRAMS =
  'program|program|program|program|program|\'program\'|"my program"|my\\ program|"$BIN/program"|$BIN/program|~/program|$EMPTY|echo|printf|exit|:|test|exec program|command program|"$CODE"|[|-x|A=|if|{|pro*|\\program|missing'.split(
    "|",
  );
const ARGUMENTS =
  'plain|"a b"|\'$A\'|$A|"$E"|*|$(echo a b)|`echo z`|${A:-d e}|$((1+2))|a\\ b|~|in*|{a,b}|$?|"$(echo "q r")"|x=y|code=5|a#b|#c|"it\'s"|\'"\'|"a\nb"|"\\$A"|$|a$|"$"|"${B-x}"|%1|!|=|}|]|\'open|"open|`open|$(open|(|&|$\'x\'|\\'.split(
    "|",
  );
const REDIRECTED =
  '>out 2>&1 >>out <in 2>err >|out >&2 <missing 3>three >"o$A" >o$A >&- <&- 12>twelve <>in 2> <<E >`echo`'.split(" ");

function lineFrom(random: SeededRandom): string {
  const some = <T>(values: readonly T[], most: number): readonly T[] =>
    Array.from({ length: Math.floor(random.next() * (most + 1)) }, () => random.of(values));
  const words = [...some(ARGUMENTS, 3), ...some(REDIRECTED, 1)];
  const last = [
    ...some(REDIRECTED, random.next() < 0.2 ? 1 : 0),
    ...some(ASSIGNED, 2),
    random.of(PROGRAMS),
    ...words,
  ].join(" ");
  const before = some(BEFORE, 2).map((each) => each + random.of(BETWEEN));
  return before.join("") + last + random.of(["", "", "", ";", " # end", "\n", " &", " | cat", " && true"]);
}

type Shell = { readonly file: string; readonly argv0: string };
type Result = { readonly effects: object; readonly pid: number; readonly started: readonly string[] };

function run({ file, argv0 }: Shell, line: string): Result {
  rmSync(folder, { recursive: true, force: true });
  rmSync(pids, { force: true });
  mkdirSync(join(folder, "sub"), { recursive: true });
  writeFileSync(join(folder, "in"), "line of in\n");
  writeFileSync(join(folder, "lib.sh"), "program() { echo function; }\n");
  const env = { PATH: `${bin}:/usr/bin:/bin`, HOME: bin, BIN: bin, CODE: "exit", EMPTY: "" };
  const { pid, status, signal, stdout, stderr } = spawnSync(file, ["-c", line], {
    argv0,
    cwd: folder,
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name !== "sub");
  const contents = Object.fromEntries(
    files.sort().map((name) => [name, sorted(readFileSync(join(folder, name), "utf8"))]),
  );
  const started = existsSync(pids) ? readFileSync(pids, "utf8").trim().split("\n") : [];
  return { effects: { status, signal, stdout: sorted(stdout), stderr: sorted(stderr), contents }, pid, started };
}

/** The programs of a pipeline write in any order. What a shell says about a missing program depends on who looks for it. */
function sorted(text: string): readonly string[] {
  return text
    .replace(/exec: |line \d+: |command (?=not found)/g, "")
    .split("\n")
    .sort();
}

/** The line that procman gives to the shell, if it is another one. */
function changed(line: string): string | undefined {
  const command = parseCommandLine(line);
  if (command.kind === "shell" || (command.kind === "exec" && command.line === line)) return undefined;
  return command.kind === "exec" ? command.line : `exec ${command.words.join(" ")}`;
}

const SHELLS: readonly Shell[] = ["/bin/sh", "/usr/bin/bash", "/usr/bin/zsh"]
  .filter(existsSync)
  .map((file) => ({ file, argv0: "sh" }));

for (const shell of SHELLS)
  test(`2.2 cmd: random lines have the same output, code, environment and files as by ${shell.file} -c, and the pid is the program's`, () => {
    const random = new SeededRandom(SEED);
    let [replaced, compared] = [0, 0];
    while (compared < CASES) {
      const line = lineFrom(random);
      const other = changed(line);
      if (other === undefined) continue;
      compared += 1;
      const [plain, ours] = [run(shell, line), run(shell, other)];
      assert.deepEqual(ours.effects, plain.effects, line);
      const last = ours.started.at(-1)?.split(" ") ?? [];
      if (!last.includes("program")) continue;
      replaced += 1;
      assert.equal(Number(last.at(-1)), ours.pid, line);
    }
    assert.ok(replaced > CASES / 4, `${replaced} of ${compared} lines started their last program`);
  });
