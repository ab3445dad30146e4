import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";

type Package = { version: string; optional?: boolean; os?: string[]; cpu?: string[] };

let project: string;

beforeEach(async () => {
  project = await Deno.makeTempDir({ prefix: "keyframe-install-" });
  await Deno.mkdir(join(project, "local"));
  await Deno.mkdir(join(project, "bin"));
  await Deno.copyFile(join(PROJECT_ROOT, "local/install-missing.mjs"), join(project, "local/install-missing.mjs"));
  await writeNpm(0);
});

afterEach(() => Deno.remove(project, { recursive: true }));

async function writeNpm(status: number): Promise<void> {
  await Deno.writeTextFile(join(project, "bin/npm"), `#!/bin/sh\necho "npm $1"\nexit ${status}\n`, { mode: 0o755 });
}

async function lock(path: string, packages: Record<string, Package>): Promise<void> {
  const named = Object.entries(packages).map(([name, entry]) => [`node_modules/${name}`, entry]);
  await Deno.writeTextFile(join(project, path), JSON.stringify({ packages: { "": {}, ...Object.fromEntries(named) } }));
}

async function install(packages: Record<string, Package>): Promise<void> {
  await Deno.mkdir(join(project, "node_modules/.bin"), { recursive: true });
  await Deno.writeTextFile(join(project, "node_modules/.bin/deno"), "");
  for (const name of Object.keys(packages)) {
    await Deno.mkdir(join(project, "node_modules", name), { recursive: true });
    await Deno.writeTextFile(join(project, "node_modules", name, "package.json"), "{}");
  }
  await lock("node_modules/.package-lock.json", packages);
}

async function run(): Promise<{ code: number; said: string }> {
  const { code, stdout, stderr } = await new Deno.Command("node", {
    args: ["local/install-missing.mjs"],
    cwd: project,
    env: { PATH: `${join(project, "bin")}:${Deno.env.get("PATH")}` },
  }).output();
  return { code, said: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
}

const film = { version: "1.0.0" };
const here = { version: "1.0.0", optional: true, os: [process.platform], cpu: [process.arch] };
const elsewhere = { version: "1.0.0", optional: true, os: ["plan9"], cpu: [process.arch] };

test("all packages installed, except for other machines → silent, npm is not called", async () => {
  await lock("package-lock.json", { film, here, elsewhere });
  await install({ film, here });
  expect(await run()).toEqual({ code: 0, said: "" });
});

test.each([
  ["nothing installed yet", async () => undefined],
  ["another version installed", () => install({ film: { version: "0.9.0" }, here })],
  ["the program for this machine not installed", () => install({ film })],
  [
    "an install that was cut short",
    async () => {
      await install({ film, here });
      await Deno.writeTextFile(join(project, "node_modules/.package-lock.json"), "{");
    },
  ],
])("npm start with %s → npm ci", async (_name, prepare) => {
  await lock("package-lock.json", { film, here, elsewhere });
  await prepare();
  const { code, said } = await run();
  expect(code).toBe(0);
  expect(said).toMatch(/^Installing missing packages .*\nnpm ci\n$/);
});

test("npm ci fails → one line more, exit 1", async () => {
  await lock("package-lock.json", { film });
  await writeNpm(7);
  const { code, said } = await run();
  expect(code).toBe(1);
  expect(said).toMatch(/npm ci failed \(see above\)\. Fix this, then run the command again\.\n$/);
});
