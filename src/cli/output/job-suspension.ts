/** A program that has taken the terminal, and whose job is suspended (Ctrl-Z, SIGTSTP) and goes on. */

/** A job that could not be suspended goes on after this time. Milliseconds. */
const RESUME_MS = 50;

export class JobSuspension {
  readonly #leave: () => void;
  readonly #enter: () => void;
  #resuming: NodeJS.Timeout | undefined;

  /** `leave` gives the terminal back, `enter` takes it again. */
  constructor(leave: () => void, enter: () => void) {
    this.#leave = leave;
    this.#enter = enter;
  }

  /** From now on signals suspend and resume. */
  listen(): void {
    this.unlisten();
    process.on("SIGTSTP", this.suspend).on("SIGCONT", this.#resume);
  }

  /** Another program, or part, has the terminal. */
  unlisten(): void {
    clearTimeout(this.#resuming);
    process.off("SIGTSTP", this.suspend).off("SIGCONT", this.#resume);
  }

  readonly suspend = (): void => {
    this.#leave();
    process.off("SIGTSTP", this.suspend);
    // The whole job, as the terminal does it: a shell waits for npx, not for this process.
    process.kill(0, "SIGTSTP");
    this.#resuming = setTimeout(this.#resume, RESUME_MS);
  };

  readonly #resume = (): void => {
    this.listen();
    this.#enter();
  };
}
