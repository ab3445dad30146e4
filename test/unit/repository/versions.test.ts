import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { SCHEMA_VERSION } from "../../../shared/platform/schema-version.ts";
import { createDocumentText } from "../../../shared/api/create-api.ts";
import { readSource } from "../../../tools/install/source.ts";

const root = new URL("../../../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), "utf8");
const json = (path: string) => JSON.parse(read(path));
const pages = (folder: string) =>
  readdirSync(new URL(folder, root), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".md") && !path.includes("node_modules"))
    .map((path) => `${folder}/${path}`);

test("the version of package.json → equals that of packages, lock files, contract, functions, migration, starter and guides", async () => {
  const lock = json("package-lock.json");
  const migration = readdirSync(new URL("supabase/migrations", root)).sort().at(-1) ?? "";
  const found: Record<string, unknown> = {
    "package-lock.json": lock.version,
    "its package": lock.packages[""].version,
    "keyframe-client": json("client/package.json").version,
    "keyframe-client in examples/film-workflow": json("examples/film-workflow/package-lock.json").packages[
      "../../client"
    ].version,
    "keyframe-client in examples/vite-react": json("examples/vite-react/package.json").dependencies["keyframe-client"],
    "keyframe-client in examples/next": json("examples/next/package.json").dependencies["keyframe-client"],
    "keyframe-supabase": (await readSource(fileURLToPath(root))).version,
    "openapi.json": JSON.parse(await createDocumentText("https://abc.supabase.co/functions/v1")("")).info.version,
    "the functions": SCHEMA_VERSION,
    [migration]: /^insert into keyframe_private\.installation \(version\) values \('(.+)'\);$/m.exec(
      read(`supabase/migrations/${migration}`),
    )?.[1],
    "the migration's name": /^\d+_keyframe_(.+)\.sql$/.exec(migration)?.[1]?.replaceAll("_", "."),
  };
  for (const page of ["README.md", "client/README.md", ...pages("docs"), ...pages("examples")]) {
    for (const [file, version] of read(page).matchAll(/keyframe-(?:client|supabase)-(\d[\w.-]*)\.tgz/g)) {
      found[`${file} in ${page}`] = version;
    }
  }
  const { version } = json("package.json");
  expect(Object.keys(found).length).toBeGreaterThan(12);
  expect(Object.entries(found).filter(([, one]) => one !== version)).toEqual([]);
});
