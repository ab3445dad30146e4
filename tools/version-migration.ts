import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { migrationDigest } from "./digests.ts";

type File = { file: string; text: string };

/** Where the SQL that is written by hand ends, in the migration of a version after the first. */
const MARK = "-- Made by `npm run schema` from here on: write above this line.";

/** The files of supabase/schemas, in the order in which they are applied. */
export async function readSchemas(root: string): Promise<File[]> {
  const folder = join(root, "supabase/schemas");
  const paths = (await readdir(folder, { recursive: true })).map((path) => path.replaceAll("\\", "/"));
  return await readFiles(folder, paths);
}

async function readFiles(folder: string, names: string[]): Promise<File[]> {
  const files = names.filter((name) => name.endsWith(".sql")).sort();
  const read = async (file: string) => ({ file, text: await readFile(join(folder, file), "utf8") });
  return await Promise.all(files.map(read));
}

/** Writes the migration of package.json's version, and the version that the functions need. Returns the migration's file. */
export async function writeVersionMigration(root: string, now: Date): Promise<string> {
  const folder = join(root, "supabase/migrations");
  const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { version: string };
  const { file, text } = versionMigration({
    version,
    migrations: await readFiles(folder, await readdir(folder)),
    schemas: await readSchemas(root),
    changelog: await readFile(join(root, "CHANGELOG.md"), "utf8"),
    now,
  });
  await writeFile(join(folder, file), text);
  await writeFile(
    join(root, "shared/platform/schema-version.ts"),
    `// Made by \`npm run schema\`.
/** The version of the migrations that the functions need, as in keyframe_private.installation. */
export const SCHEMA_VERSION = "${version}";
`,
  );
  return file;
}

/**
 * The migration of a version: the first one is all of supabase/schemas; a later one is written by hand and ends with the files 99_*.
 * A version is released once CHANGELOG.md has its heading, `## [version]`. Throws when a released migration was edited.
 *
 * @param migrations all files of supabase/migrations, oldest first
 */
export function versionMigration(given: {
  version: string;
  migrations: File[];
  schemas: File[];
  changelog: string;
  now: Date;
}): File {
  const { version, migrations, schemas, changelog, now } = given;
  refuseEdited(migrations, changelog);
  const present = migrations.find(({ file }) => isOf(file, version));
  const last = migrations.filter((each) => each !== present).at(-1);
  const file = present?.file ?? `${now.toISOString().replace(/\D/g, "").slice(0, 14)}_${nameOf(version)}.sql`;
  if (last !== undefined && last.file > file) throw new Error(`${last.file} is newer than ${file}: rename one.`);

  const isEnd = ({ file }: File) => file.startsWith("99_");
  const all = (files: File[]) => files.map((each) => `-- supabase/schemas/${each.file}\n\n${each.text}\n`).join("");
  const end = `${all(schemas.filter(isEnd))}insert into keyframe_private.installation (version) values ('${version}');\n`;
  const byHand = present?.text.split(MARK)[0] ?? `-- What changes in ${version}.\n\n`;
  const text =
    last === undefined
      ? `-- Made by \`npm run schema\` from supabase/schemas: edit those.\n\n${all(schemas.filter((each) => !isEnd(each)))}${end}`
      : `${byHand}${MARK}\n\n${end}`;
  if (present !== undefined && present.text !== text && releases(changelog).has(version)) {
    throw new Error(`${version} is released: raise the version in package.json, and run \`npm run schema\` again.`);
  }
  return { file, text };
}

const nameOf = (version: string) => `keyframe_${version.replaceAll(".", "_")}`;
const isOf = (file: string, version: string) => file.endsWith(`_${nameOf(version)}.sql`);

/** The released versions, each with what is noted below its heading. */
const releases = (changelog: string): Map<string, string> =>
  new Map(
    [...changelog.matchAll(/^## \[(\d+\.\d+\.\d+)\](.*(?:\n(?!## ).*)*)/gm)].map(([, v = "", text = ""]) => [v, text]),
  );

/** A release notes the digest of its migration in CHANGELOG.md, which holds the migration fixed. */
function refuseEdited(migrations: File[], changelog: string): void {
  for (const [version, notes] of releases(changelog)) {
    const { file, text } = migrations.find((each) => isOf(each.file, version)) ?? { file: nameOf(version), text: "" };
    const noted = /^Migration: SHA-256 ([0-9a-f]{64})$/m.exec(notes)?.[1];
    const line = `Migration: SHA-256 ${migrationDigest(text)}`;
    if (noted === undefined) throw new Error(`Write below the heading [${version}] of CHANGELOG.md: ${line}`);
    if (!line.endsWith(noted)) {
      throw new Error(
        `${file} was edited or lost, and ${version} is released: restore it. A change is a migration of the next version.`,
      );
    }
  }
}
