/** CLOCK_MONOTONIC in milliseconds: one time scale for all processes of a machine until it reboots. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}
