/** What the keeper has to say itself. */
export function warn(problem: string): void {
  process.stderr.write(`procman: ${problem}\n`);
}
