/** The command `procman` in messages, as the user can type it: what npx or pnpm has found is not in the PATH of the shell. */

/** Program that has called procman, by the variables that npm and pnpm set for it; undefined: the shell has. */
export function callerIn({
  npm_command: command,
  npm_config_user_agent: agent = "",
}: NodeJS.ProcessEnv): string | undefined {
  if (command !== "exec") return undefined;
  return agent.startsWith("pnpm/") ? "pnpm exec" : "npx";
}

/**
 * The same message with commands that can be typed.
 *
 * @example
 * asCalled('"procman reload" applies it', { npm_command: "exec" }) // '"npx procman reload" applies it'
 */
export function asCalled(message: string, env: NodeJS.ProcessEnv = process.env): string {
  const caller = callerIn(env);
  return caller === undefined ? message : message.replace(/(["`])procman (?=[a-z-])/g, `$1${caller} procman `);
}
