import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

// What GitHub itself would refuse: test/release/workflows.test.ts.

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const scripts = Object.keys((JSON.parse(read("package.json")) as { scripts: Record<string, string> }).scripts);
const workflows = readdirSync(new URL("../../.github/workflows", import.meta.url)).sort();
const textOf = (name: string) => read(`.github/workflows/${name}`);

test("ci.yml → runs the commands of .ci/run, in order, and no others", () => {
  const ours = [...read(".ci/run").matchAll(/^npm .*$/gm)].map(([line]) => line);
  const theirs = [...textOf("ci.yml").matchAll(/^\s+- run: (.*)$/gm)].map(([, line]) => line);
  expect(ours.length).toBeGreaterThan(1);
  expect(theirs).toEqual(ours);
});

describe.each(workflows)("the workflow %s", (name) => {
  const text = textOf(name);

  test("a workflow → may only read the repository; a publishing job may get an identity token, and write to Pages if needed", () => {
    const granted = [...text.matchAll(/^( *)permissions:(.*)\n((?:\1 {2}.*\n)*)/gm)];
    expect(granted[0]?.slice(1, 3)).toEqual(["", " {}"]);
    const jobs = text.slice(text.indexOf("\njobs:")).match(/^ {2}[\w-]+:$/gm) ?? [];
    const rights = granted.slice(1).map(([, , , block = ""]) => block.trim().replaceAll(/\s*\n\s*/g, ", "));
    const publishes = text.includes("actions/deploy-pages@") ? "pages: write, id-token: write" : "id-token: write";
    expect(rights).toEqual(jobs.map((job) => (job === "  publish:" ? publishes : "contents: read")));
  });

  test("a workflow → names each action by a commit with its version, the same everywhere, and npm scripts that exist", () => {
    for (const [, action = "", comment = ""] of text.matchAll(/uses: (\S+)(.*)$/gm)) {
      if (action.startsWith("./")) expect(existsSync(new URL(`../../${action}`, import.meta.url))).toBe(true);
      else expect(`${action}${comment}`).toMatch(/^actions\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
      const pinned = workflows.flatMap(
        (each) => textOf(each).match(new RegExp(`${action.split("@")[0]}@.*$`, "gm")) ?? [],
      );
      expect(new Set(pinned).size).toBeLessThan(2);
    }
    for (const [, script] of text.matchAll(/npm run ([\w:-]+)/g)) expect(scripts).toContain(script);
  });

  test("a workflow → leaves no token of the repository on the disk, and no expression in a shell command", () => {
    expect(text.match(/persist-credentials: false/g)?.length ?? 0).toBe(text.match(/actions\/checkout@/g)?.length ?? 0);
    const expressions = text.split("\n").filter((line) => line.includes("${{"));
    const outside = /^ *(name|group|runs-on|node-version|KEYFRAME_TEST_WORKERS): /;
    expect(expressions.filter((line) => !outside.test(line))).toEqual([]);
  });
});
