import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { packClient } from "../../tools/starter/install-client.ts";
import { expectJourneyIn, expectReadmeExampleIn, type Runtime } from "../support/client/programs.ts";
import { nodeBin, RUNTIMES_FOLDER as FOLDER, said } from "../support/runtimes/install.ts";
import { files, put } from "../support/tools/app-folder.ts";

// Both packages as a newcomer has them, in each runtime that they are for: installed into an empty folder, then run as their READMEs say.

const CONFIG = '[api]\nschemas = ["public"]\n';

/** Its folder of programs, what installs packages, what runs a file, and what runs the command of a package. */
type Given = { bin: string; install: string[]; run: Runtime["run"]; npx: string[]; version: RegExp };
const node = (major: number): Given => ({
  ...{ bin: nodeBin(major), install: ["npm", "install"], run: ["node"] },
  ...{ npx: ["npx", "keyframe-supabase"], version: new RegExp(`^v${major}\\.`) },
});
const RUNTIMES: Record<string, Given> = {
  "Node 20": node(20),
  "Node 22": node(22),
  "Node 24": node(24),
  Bun: {
    ...{ bin: join(FOLDER, "node_modules/bun/bin"), install: ["bun", "add"], run: ["bun"], version: /^1\./ },
    npx: ["bun", "x", "--bun", "keyframe-supabase"],
  },
  Deno: {
    ...{ bin: dirname(Deno.execPath()), install: ["npm", "install"], run: ["deno", "run", "-A"], version: /^deno 2\./ },
    // `deno run -A npm:keyframe-supabase`, once npm has it.
    npx: ["deno", "run", "-A", "node_modules/keyframe-supabase/tools/install.js"],
  },
};

let tarballs: string;
let byClone: Awaited<ReturnType<typeof files>>;
const packed: string[] = [];
beforeAll(async () => {
  tarballs = await Deno.makeTempDir({ prefix: "keyframe-packages-" });
  await said(Deno.execPath(), ["run", "-A", "tools/package.ts", tarballs], PROJECT_ROOT);
  await packClient(tarballs);
  for (const { name } of Deno.readDirSync(tarballs)) packed.push(join(tarballs, name));
  const app = join(tarballs, "by-clone");
  await put(app, "supabase/config.toml", CONFIG);
  await said(Deno.execPath(), ["run", "-A", "tools/install.ts", "add", app], PROJECT_ROOT);
  byClone = await files(join(app, "supabase"));
});
afterAll(() => Deno.remove(tarballs, { recursive: true }));

describe.each(Object.entries(RUNTIMES))("both packages in %s", (_name, { bin, install, run, npx, version }) => {
  const env = { ...Deno.env.toObject(), PATH: `${bin}:${Deno.env.get("PATH")}` };
  let app: string;
  const here = ([program = "", ...args]: string[]) => said(program, args, app, env);

  beforeAll(async () => {
    app = await Deno.makeTempDir({ prefix: "keyframe-packages-app-" });
    expect(await here([run[0], "--version"])).toMatch(version);
    await put(app, "package.json", JSON.stringify({ type: "module", private: true }));
    const { dependencies } = JSON.parse(await Deno.readTextFile(join(PROJECT_ROOT, "package.json")));
    await here([...install, ...packed, `@supabase/supabase-js@${dependencies["@supabase/supabase-js"]}`]);
  });
  afterAll(() => Deno.remove(app, { recursive: true }));

  test("keyframe-client → the example in its README runs, and every function works as the contract says", async () => {
    await expectReadmeExampleIn(app, { run, env });
    await expectJourneyIn(app, { run, env });
  });

  test("keyframe-supabase → the commands of its README copy what the checkout's do, and remove it", async () => {
    const { version } = JSON.parse(await Deno.readTextFile(join(PROJECT_ROOT, "package.json")));
    expect(await here([...npx, "--version"])).toBe(`${version}\n`);
    await put(app, "supabase/config.toml", CONFIG);
    const copied = () => files(join(app, "supabase"));
    const readme = await Deno.readTextFile(join(PROJECT_ROOT, "tools/install/README.md"));
    const commands = [...readme.matchAll(/^npx keyframe-supabase (.*?)\s*(?:#.*)?$/gm)].map(([, words = ""]) => words);
    expect(commands).toEqual(["add --dry-run", "add", "remove"]);
    const after = [[["config.toml", CONFIG]], byClone, byClone];
    for (const [at, words] of commands.entries()) {
      const command = [...npx, ...words.split(" ")];
      if (words === "remove") await expect(here(command)).rejects.toThrow(/Nothing was changed: .* with --yes/);
      else await here(command);
      expect(await copied()).toEqual(after[at]);
    }
    await here([...npx, "remove", "--yes"]);
    expect((await copied()).find(([path]) => path === "config.toml")).toEqual(["config.toml", CONFIG]);
  });
});

test("keyframe-supabase add under Yarn's Plug'n'Play, which serves packages from archives → copies what the checkout does", async () => {
  const app = await Deno.makeTempDir({ prefix: "keyframe-packages-yarn-" });
  try {
    await put(app, "package.json", JSON.stringify({ private: true }));
    await put(app, "yarn.lock", "");
    await put(app, "supabase/config.toml", CONFIG);
    const env = { ...Deno.env.toObject(), YARN_GLOBAL_FOLDER: join(app, ".yarn"), YARN_ENABLE_TELEMETRY: "0" };
    const yarn = (...args: string[]) =>
      said("node", [join(FOLDER, "node_modules/@yarnpkg/cli-dist/bin/yarn.js"), ...args], app, env);
    const tarball = packed.find((path) => path.includes("keyframe-supabase"));
    await yarn("add", `keyframe-supabase@file:${tarball}`);
    await yarn("keyframe-supabase", "add");
    expect(await files(join(app, "supabase"))).toEqual(byClone);
  } finally {
    await Deno.remove(app, { recursive: true });
  }
});
