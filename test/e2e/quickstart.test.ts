import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { PROJECT_ROOT as ROOT } from "../../local/stack/project-root.ts";
import { PROJECT } from "../support/tools/deploy-platform.ts";
import { type DeployScene, openDeployScene } from "../support/tools/deploy-scene.ts";
import { supabaseCli } from "../../local/stack/supabase-cli.ts";

// docs/quickstart.md, then what docs/going-live.md says of an app's own project, as they stand: every block runs in order, in one shell per
// block. `npm start` is the running stack, the hosted project is a Postgres and the stand-in for Supabase's Management API, and <ref> is
// filled in.

const [start, live] = await Promise.all(
  ["quickstart", "going-live"].map((name) => Deno.readTextFile(`${ROOT}docs/${name}.md`)),
);
const [ownProject = ""] = /^## Your app's project$.*?(?=^## The keys$)/ms.exec(live ?? "") ?? [];
const page = `${start}\n${ownProject}`;
const blocks = [...page.matchAll(/^```(sh|js)\n(.*?)^```$/gms)].map(([, kind = "", text = ""]) => ({ kind, text }));
const stack = inject("stack");

let parent: string;
let scene: DeployScene;
beforeAll(async () => {
  parent = await Deno.makeTempDir({ prefix: "keyframe-quickstart-" });
  scene = await openDeployScene();
  await Deno.symlink(`${ROOT}node_modules`, `${parent}/node_modules`);
  await Deno.mkdir(`${parent}/my-app`);
  await Deno.writeTextFile(`${parent}/my-app/package.json`, JSON.stringify({ name: "my-app", private: true }));
  const { code, stderr } = await supabaseCli(["init", "--yes"], parent, { project: `${parent}/my-app` });
  expect([code, stderr]).toEqual([0, expect.any(String)]);
});
afterAll(async () => {
  await scene.stop();
  await Deno.remove(parent, { recursive: true });
});

/** The clone: the working tree, also what is not committed. What is installed here is linked, so nothing is installed there. */
const CLONE = `git -C "${ROOT}" ls-files -coz --exclude-standard | tar -C "${ROOT}" --null -T - -c | tar -x -C keyframe`;

const REPLICATE_SECRET = "whsec_c2lnbmVkLWJ5LXRoZS1xdWlja3N0YXJ0LXRlc3Q=";

/** What stands in the page → what runs here. Each must be found. */
const found = new Set<string>();
const filledIn = (text: string) => {
  const replacements: [string, string][] = [
    [
      "npm start\n",
      `mkdir keyframe && ${CLONE} && ln -s "${ROOT}node_modules" keyframe/node_modules && : > keyframe/local/install-missing.mjs\n`,
    ],
    ["http://127.0.0.1:54321", stack.url],
    ["curl -s https://api.replicate.com/v1/webhooks/default/secret", `echo '{"key": "${REPLICATE_SECRET}"}'`],
    ["db push --remote=<ref>", `db push --remote=${scene.databaseUrl}`],
    ["db query --remote=<ref>", `db query --remote=${scene.databaseUrl}`],
    ["curl https://<ref>.supabase.co", `curl -s ${stack.url}`],
    ["--remote=<ref>", `--remote=${PROJECT}`],
    ["https://<ref>.supabase.co", `https://${PROJECT}.supabase.co`],
  ];
  let whole = text;
  for (const [written, run] of replacements) {
    if (whole.includes(written)) found.add(written);
    whole = whole.replaceAll(written, run);
  }
  expect(whole).not.toMatch(/<ref>|<owner>|…/);
  return { whole, replacements };
};

test("docs/quickstart.md and docs/going-live.md → every command works: a film from the app, then Keyframe in its project", {
  timeout: 480_000,
}, async () => {
  let folder = parent;
  const said: string[] = [];
  const environment = {
    ...scene.login,
    KEYFRAME_REPLICATE_API_TOKEN: `r8_${"0".repeat(37)}`,
    PATH: `${ROOT}node_modules/.bin:${Deno.env.get("PATH")}`,
  };
  const twice = blocks.flatMap((block) => (block.text.includes("keyframe_kick_secret") ? [block, block] : block)); // it can be run again
  for (const { kind, text } of twice) {
    const { whole } = filledIn(text);
    if (kind === "js") await Deno.writeTextFile(`${folder}/film.mjs`, whole);
    else {
      const script = `set -eu\n${whole}\npwd > ${parent}/pwd`;
      const { code, stdout, stderr } = await new Deno.Command("bash", {
        args: ["-c", script],
        cwd: folder,
        clearEnv: true,
        env: environment,
      }).output();
      const output = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
      expect([code, code === 0 ? "" : `${whole}\n${output}`]).toEqual([0, ""]);
      expect(output).not.toMatch(/^WARN/m);
      said.push(output);
      folder = (await Deno.readTextFile(`${parent}/pwd`)).trim();
    }
  }
  expect([...found].sort()).toEqual(
    filledIn("")
      .replacements.map(([written]) => written)
      .sort(),
  );

  const film = await Deno.readFile(`${parent}/my-app/video.mp4`);
  expect(new TextDecoder().decode(film.slice(4, 8))).toBe("ftyp");
  expect(said.join("")).toContain("video succeeded");
  const slugs = new Set(scene.platform.uploads.map(({ slug }) => slug));
  expect([...slugs].sort()).toEqual([
    ...["api", "keyframe-deliver", "keyframe-generate", "keyframe-mcp", "keyframe-replicate-webhook"],
  ]);
  const [row] = await scene.sql`
    select (select count(*)::int from keyframe.models) > 0 as has_models,
      (select count(*)::int from vault.secrets where name like 'keyframe\_%') as vault_entries`;
  expect(row).toEqual({ has_models: true, vault_entries: 2 });
  expect(said.at(-1)).toContain('"status":"ok"');
});
