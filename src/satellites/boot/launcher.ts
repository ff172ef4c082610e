/** The script that every init system runs. It finds Node and procman again after an update has moved them. */
import { dirname } from "node:path";
import { versionedPlace } from "../../core/os/package-place.ts";
import { MARK, shellWord } from "./boot-plan.ts";
import { type BootRecord, recordLine } from "./boot-record.ts";

/** A part of a path that names a version: `v20.19.0`, `20.19.0_1`, `node-v22.1.0-linux-x64`. */
const VERSION_PART = /\d\.\d+\.\d/;

/** Where Node lies if no version manager has it. */
const USUAL_NODES = ["/usr/local/bin/node", "/usr/bin/node", "/opt/homebrew/bin/node"];

/** Ends with 1 in a Node that is too old. */
const NODE_CHECK =
  "const [a, b] = process.versions.node.split('.').map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)";

export function launcherText(record: BootRecord): string {
  const { name, config, profile, node, script, user, home, path, stateRoot } = record;
  const variables = {
    HOME: home,
    USER: user,
    LOGNAME: user,
    PATH: path,
    ...(stateRoot === undefined ? {} : { PROCMAN_STATE_DIR: stateRoot }),
  };
  const exports = Object.entries(variables).map(
    ([key, value]) => `export ${key}=${value === `~${user}` ? value : shellWord(value)}`,
  );
  return `#!/bin/sh
# ${MARK}; "procman uninstall --name ${name}" removes it, "procman install" writes it again.
${recordLine(record)}
${exports.join("\n")}
node=${shellWord(node)}
script=${shellWord(script)}
config=${shellWord(config)}

usable() { [ -x "$1" ] && "$1" -e ${shellWord(NODE_CHECK)} 2>/dev/null; }

# Node was removed or replaced: that of the machine, or better the last one beside it.
if ! [ -x "$node" ]; then
  node=
  for each in ${USUAL_NODES.join(" ")} "$(command -v node)" ${patternOf(node)}; do
    if usable "$each"; then node=$each; fi
  done
  if [ -z "$node" ]; then
    echo "procman: Cannot start ${name}: Node is gone (${quoted(node)}), and no other one is 20.19 or newer; install it, then run \\"procman install\\"" >&2
    exit 127
  fi
  PATH=\${node%/*}:$PATH
fi

# procman was moved with it.
if ! [ -f "$script" ]; then
  for each in "\${node%/bin/node}/lib/node_modules/procman/dist/procman.cjs" ${scriptPattern(script)} "$(command -v procman)"; do
    if [ -f "$each" ]; then script=$each; break; fi
  done
  if ! [ -f "$script" ]; then
    echo "procman: Cannot start ${name}: procman is gone (${quoted(script)}); install it (npm install -g procman), then run \\"procman install\\"" >&2
    exit 127
  fi
fi

command=$1
shift
cd ${shellWord(dirname(config))} || exit 1
${profile === undefined ? "" : `[ "$command" = run ] && set -- --profile=${shellWord(profile)} "$@"\n`}exec "$node" "$script" "$command" --config "$config" "$@"
`;
}

/** A pattern of the shell: the path with any version in the place of the present one. */
function patternOf(path: string): string {
  const parts = path.split("/");
  const index = parts.findIndex((part, each) => each > 0 && each < parts.length - 1 && VERSION_PART.test(part));
  if (index === -1) return shellWord(path);
  return `${shellWord(`${parts.slice(0, index).join("/")}/`)}*${shellWord(`/${parts.slice(index + 1).join("/")}`)}`;
}

/** pnpm and Yarn have a folder for each version of the package. */
function scriptPattern(script: string): string {
  const place = versionedPlace(script);
  if (place === undefined) return patternOf(script);
  return `${shellWord(`${place.folder}/`)}${place.levels === 1 ? "procman[@-]*" : "*/*"}${shellWord(place.file)}`;
}

/** Inside of double quotes. */
function quoted(text: string): string {
  return text.replace(/[\\"$`]/g, "\\$&");
}
