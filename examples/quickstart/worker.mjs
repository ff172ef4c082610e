// A worker that works for a while and then crashes.
let jobs = 0;
setInterval(() => {
  jobs += 1;
  console.log(`job ${jobs} done`);
  if (jobs === 4) {
    console.error("out of luck");
    process.exit(3);
  }
}, 700);
