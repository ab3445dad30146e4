import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const scripts = Object.keys((JSON.parse(read("package.json")) as { scripts: Record<string, string> }).scripts);

test("ci.yml → runs the commands of .ci/run, in their order, and no other", () => {
  const ours = [...read(".ci/run").matchAll(/^npm .*$/gm)].map(([line]) => line);
  const theirs = [...read(".github/workflows/ci.yml").matchAll(/^\s+- run: (.*)$/gm)].map(([, line]) => line);
  expect(ours.length).toBeGreaterThan(1);
  expect(theirs).toEqual(ours);
});

test.each(["ci.yml", "supabase-start.yml", "audit.yml"])(
  "%s → may only read the repository, and every npm script it names exists",
  (name) => {
    const workflow = read(`.github/workflows/${name}`);
    expect(workflow).toMatch(/^permissions:\n {2}contents: read$/m);
    for (const [, script] of workflow.matchAll(/npm run ([\w:-]+)/g)) expect(scripts).toContain(script);
    for (const [, action] of workflow.matchAll(/uses: (\S+)/g)) expect(action).toMatch(/^actions\/[\w-]+@v\d+$/);
  },
);
