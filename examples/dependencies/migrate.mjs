// Fills the database and ends.
for (const word of ["hello", "world"]) await fetch(`http://127.0.0.1:7401/?word=${word}`, { method: "POST" });
console.log("two words are in the database");
