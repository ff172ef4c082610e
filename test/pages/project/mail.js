console.log("waits for mail");
setInterval(() => undefined, 60_000);
