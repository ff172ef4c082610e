/**
 * The first code of the single executable (docs/reference/cli.md), inside of Node's binary
 * (https://nodejs.org/api/single-executable-applications.html): unpacks procman and a usual Node once, and goes on as
 * `procman`. It imports nothing of procman, which isn't there yet.
 */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { getAsset } from "node:sea";

/** What Node's binary has where it looks whether it is a single executable; `0` follows if it is none. */
const FUSE = ["NODE_SEA_FUSE", "fce680ab2cc467b6e072b8b5df1996b2:"].join("_");
const NONE = 48;
const OTHERS_WRITE = 0o022;

const folder = unpacked();
const script = join(folder, "dist/procman.cjs");
// All other processes of procman are started with a usual Node, which takes scripts and flags.
process.execPath = join(folder, "bin/node");
process.argv.splice(0, 2, process.execPath, script);
createRequire(script)(script);

/** The folder with procman and Node. */
function unpacked(): string {
  const parent =
    process.env.PROCMAN_EXECUTABLE_DIR || join(process.env.XDG_DATA_HOME || join(homedir(), ".local/share"), "procman");
  const whole = join(parent, getAsset("name", "utf8"));
  if (existsSync(whole)) return checked(whole);
  try {
    mkdirSync(parent, { recursive: true, mode: 0o700 });
    const part = mkdtempSync(join(parent, ".unpacking-"));
    unpackInto(part);
    try {
      renameSync(part, whole);
    } catch (error) {
      // Another start was faster.
      rmSync(part, { recursive: true, force: true });
      if (!existsSync(whole)) throw error;
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    process.stderr.write(
      `procman: Cannot unpack it into ${parent}: ${why}; PROCMAN_EXECUTABLE_DIR names another folder\n`,
    );
    process.exit(69);
  }
  return checked(whole);
}

/** Its programs are run: nobody else may have put them there. */
function checked(whole: string): string {
  const { uid, mode } = lstatSync(whole);
  const own = process.geteuid?.() ?? uid;
  if ((uid === own || uid === 0) && (mode & OTHERS_WRITE) === 0) return whole;
  process.stderr.write(
    `procman: Cannot use ${whole}: another user could change it; PROCMAN_EXECUTABLE_DIR names another folder\n`,
  );
  process.exit(69);
}

function unpackInto(part: string): void {
  const files = JSON.parse(getAsset("files", "utf8")) as readonly string[];
  for (const file of files) {
    const path = join(part, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, new Uint8Array(getAsset(file)));
  }
  mkdirSync(join(part, "bin"));
  writeFileSync(join(part, "bin/node"), usualNode(), { mode: 0o755 });
  chmodSync(join(part, "dist/procman.cjs"), 0o755);
  chmodSync(part, 0o755);
}

/** The binary that runs, without the mark of a single executable. */
function usualNode(): Buffer {
  const binary = readFileSync(process.platform === "linux" ? "/proc/self/exe" : process.execPath);
  const at = binary.indexOf(FUSE);
  if (at < 0) throw new Error("Node's binary has no mark of a single executable");
  binary[at + FUSE.length] = NONE;
  return binary;
}
