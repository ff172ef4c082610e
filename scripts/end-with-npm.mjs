/** npm hands a signal to the shell between it and us, which dies of it and tells nobody: a changed parent means SIGTERM. */
const LOOK_EVERY_MS = 300;

export function endWithNpm(end = () => process.kill(process.pid, "SIGTERM")) {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    end();
  }, LOOK_EVERY_MS);
  timer.unref();
}
