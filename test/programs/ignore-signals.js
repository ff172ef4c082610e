/** Ignores SIGTERM, SIGINT and SIGHUP. */
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => console.log(`ignores ${signal}`));
setInterval(() => undefined, 60_000);
console.log("is up");
