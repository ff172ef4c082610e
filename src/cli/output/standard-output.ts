/** Errors of standard output. */
import { EXIT } from "../../core/base/errors.ts";

/** Ends the command when its output can't be written. */
export function endIfUnwritten(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    // The reader, such as `head`, has closed the pipe.
    if (error.code === "EPIPE") process.exit(EXIT.done);
    process.stderr.write(`procman: Cannot write to standard output: ${error.message}\n`);
    process.exit(EXIT.refused);
  });
}
