import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readProject } from "../../../dashboard/vite-plugins.ts";
import { buildDashboard } from "../../../local/stack/build-dashboard.ts";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";

let root: string;
const source = () => join(root, "dashboard", "main.js");
const page = () => join(root, "dashboard", "dist", "index.html");

/** As if the build had been an hour ago. */
async function letTimePass(): Promise<void> {
  const past = new Date(Date.now() - 3_600_000);
  const age = async (path: string): Promise<void> => {
    const { isDirectory } = await Deno.stat(path);
    if (isDirectory) for await (const { name } of Deno.readDir(path)) await age(join(path, name));
    await Deno.utime(path, past, past);
  };
  for (const name of ["dashboard", "client", "shared", "package.json", "package-lock.json"])
    await age(join(root, name));
  await Deno.utime(page(), new Date(past.getTime() + 1_000), new Date(past.getTime() + 1_000));
}

const builtAt = async () => (await Deno.stat(page())).mtime?.getTime();

async function builtScript(): Promise<string> {
  const name = /assets\/[^"]+\.js/.exec(await Deno.readTextFile(page()))?.[0] ?? "";
  return await Deno.readTextFile(join(root, "dashboard", "dist", name));
}

beforeAll(async () => {
  root = await Deno.makeTempDir({ prefix: "kf-dashboard-build-" });
  for (const name of ["dashboard", "client", "shared"]) await Deno.mkdir(join(root, name));
  await Deno.writeTextFile(join(root, "package.json"), "{}");
  await Deno.writeTextFile(join(root, "package-lock.json"), "{}");
  await Deno.writeTextFile(join(root, "client", "index.ts"), "");
  const html = '<!doctype html><script type="module" src="./main.js"></script>';
  await Deno.writeTextFile(join(root, "dashboard", "index.html"), html);
  await Deno.writeTextFile(source(), "document.title = process.env.NODE_ENV;");
  await Deno.symlink(join(PROJECT_ROOT, "node_modules"), join(root, "node_modules"));
});
afterAll(() => Deno.remove(root, { recursive: true }));

test("the dashboard is not built yet → built for production; sources older → not again; one changed → built again", async () => {
  expect(Deno.env.get("NODE_ENV")).toBe("test");
  await buildDashboard(undefined, root);
  expect(await builtScript()).toContain("production");
  await letTimePass();
  const before = await builtAt();
  await buildDashboard(undefined, root);
  expect(await builtAt()).toBe(before);
  await Deno.writeTextFile(join(root, "package.json"), "{ }"); // its repository is in the pages
  await buildDashboard(undefined, root);
  expect(await builtAt()).not.toBe(before);
});

test("a dashboard source that is not valid JavaScript → an error that names it", async () => {
  await Deno.writeTextFile(source(), "const = ;");
  await expect(buildDashboard(undefined, root)).rejects.toThrow(/The dashboard could not be built: [\s\S]*main\.js/);
});

test("a build for a project → its config.json says where to add credit; an invalid address is an error", () => {
  const project = { SUPABASE_URL: "https://abc.supabase.co", SUPABASE_PUBLISHABLE_KEY: "sb_publishable_a" };
  const read = (KEYFRAME_CREDIT_URL?: string) => readProject({ ...project, KEYFRAME_CREDIT_URL });
  expect(read("https://app.example/credit")).toMatchObject({ creditUrl: "https://app.example/credit" });
  expect(read()).toEqual({ supabaseUrl: "https://abc.supabase.co", publishableKey: "sb_publishable_a" });
  for (const wrong of ["app.example/credit", "javascript:alert(1)", "https://"])
    expect(() => read(wrong)).toThrow("KEYFRAME_CREDIT_URL must be the address of a page");
});
