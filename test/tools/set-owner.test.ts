import { afterAll, beforeAll, expect, test } from "vitest";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { files } from "../support/tools/app-folder.ts";
import { runProgram } from "../support/tools/run-command.ts";

/** The project's text files, as a clone has them. */
let copy: string;
let before: [path: string, text: string][];
let present: string;
beforeAll(async () => {
  copy = await Deno.makeTempDir({ prefix: "keyframe-set-owner-" });
  const list = `git -C "${PROJECT_ROOT}" grep --untracked -zlI -e "" -- . ":!package-lock.json" ":!supabase"`;
  const pack = `tar -C "${PROJECT_ROOT}" --null -T - -c | tar -x -C "${copy}"`;
  expect((await runProgram("bash", ["-c", `${list} | ${pack}`]).ended).code).toBe(0);
  before = await files(copy);
  present = ownerIn(before);
});
afterAll(() => Deno.remove(copy, { recursive: true }));

const renamed = (text: string, name: string) =>
  text
    .replaceAll(`github.com/${present}/keyframe`, `github.com/${name}/keyframe`)
    .replaceAll(`https://${present}.github.io/keyframe`, `https://${name}.github.io/keyframe`)
    .replaceAll(`--repo "${present}/keyframe`, `--repo "${name}/keyframe`)
    .replaceAll(`shadcn@latest add "${present}/keyframe`, `shadcn@latest add "${name}/keyframe`);
const ownerIn = (texts: typeof before) => {
  const { repository } = JSON.parse(new Map(texts).get("package.json") ?? "");
  return /github\.com\/([^/]+)\/keyframe\.git$/.exec(repository.url)?.[1] ?? "";
};

const setOwner = (...args: string[]) =>
  runProgram(Deno.execPath(), ["run", "-A", `${PROJECT_ROOT}tools/set-owner.ts`, ...args], {}, copy).ended;

test("npm run set-owner, twice and with another name → each address of the repository has it, and nothing else changes", async () => {
  for (const name of ["Some-one", "a"]) {
    const { code, said } = await setOwner(name);
    expect([code, said]).toEqual([0, expect.stringContaining("client/package.json")]);
    const after = await files(copy);
    expect(ownerIn(after)).toBe(name);
    expect(after).toEqual(before.map(([path, text]) => [path, renamed(text, name)]));
    const pages = after.filter(([path, text]) => /\.(md|json|yml)$/.test(path) && text.includes("<owner>"));
    expect(pages.map(([path]) => path)).toEqual([]);
    expect(await setOwner(name)).toMatchObject({ code: 0, output: expect.stringMatching(/already: nothing/) });
    expect(await files(copy)).toEqual(after);
  }
});

test("a page that still has a placeholder for the owner, written after npm run set-owner → gets the name at the next run", async () => {
  expect(await setOwner("a")).toMatchObject({ code: 0 });
  const kept = await files(copy);
  const unset = "<owner>"; // not in the address below, which set-owner would change here
  const page = `${copy}/later.md`;
  await Deno.writeTextFile(page, `https://github.com/${unset}/keyframe\n`);
  expect(await setOwner("a")).toMatchObject({
    code: 0,
    output: expect.stringMatching(/^The owner is a now in:\n {2}later\.md\n$/),
  });
  expect(await Deno.readTextFile(page)).toBe("https://github.com/a/keyframe\n");
  await Deno.remove(page);
  expect(await files(copy)).toEqual(kept);
});

test("npm run set-owner with a name that GitHub does not give → refused in a sentence, and nothing changes", async () => {
  const kept = await files(copy);
  const names = ["", "-a", "a--b", "a/b", "<owner>", "a".repeat(40)];
  const refused = await Promise.all(names.map((name) => setOwner("--", name)));
  const sentences = names.map((name) =>
    expect.stringMatching(new RegExp(`^"${name}" is not a GitHub account: .*\\n$`)),
  );
  expect(refused.map(({ output }) => output)).toEqual(sentences);
  expect(refused.map(({ code }) => code)).toEqual(names.map(() => 1));
  expect(await files(copy)).toEqual(kept);
});
