import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sha256Hex } from "./digests.ts";
import { readText } from "./install/source.ts";

type File = { file: string; text: string };

/** A change of a table waits for all its readers, such as a dump, and every later request for the table waits for the change. */
const SHORT_WAIT = "select set_config('lock_timeout', '5s', true);";

/** The end of the hand-written SQL in the migration of a later version. */
const MARK = "-- Made by `npm run schema` from here on: write above this line.";

/** The files of supabase/schemas, in the order in which they are applied. */
export async function readSchemas(root: string): Promise<File[]> {
  const folder = join(root, "supabase/schemas");
  const paths = (await readdir(folder, { recursive: true })).map((path) => path.replaceAll("\\", "/"));
  return await readFiles(folder, paths);
}

async function readFiles(folder: string, names: string[]): Promise<File[]> {
  const files = names.filter((name) => name.endsWith(".sql")).sort();
  const read = async (file: string) => ({ file, text: await readText(folder, file) });
  return await Promise.all(files.map(read));
}

/** The version of a checkout, with all that its migration depends on. */
export async function readVersion(root: string): Promise<Omit<Parameters<typeof versionMigration>[0], "now">> {
  const folder = join(root, "supabase/migrations");
  const { version } = JSON.parse(await readText(root, "package.json")) as { version: string };
  return {
    version,
    migrations: await readFiles(folder, await readdir(folder)),
    schemas: await readSchemas(root),
    changelog: await readText(root, "CHANGELOG.md"),
  };
}

/** Writes the migration of package.json's version, and the version that the functions need. Returns the migration's file. */
export async function writeVersionMigration(root: string, now: Date): Promise<string> {
  const { version, ...given } = await readVersion(root);
  const { file, text } = versionMigration({ version, ...given, now });
  await writeFile(join(root, "supabase/migrations", file), text);
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
 * A version is released once CHANGELOG.md has its heading, `## [version]`. Throws when a released migration was edited or renamed.
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
  refuseEdited(version, migrations, changelog);
  const present = migrations.find(({ file }) => isOf(file, version));
  const last = migrations.filter((each) => each !== present).at(-1);
  const file = present?.file ?? `${now.toISOString().replace(/\D/g, "").slice(0, 14)}_${nameOf(version)}.sql`;
  refuseOrder([...migrations.filter((each) => each !== present).map((each) => each.file), file].sort());

  const isEnd = ({ file }: File) => file.startsWith("99_");
  const all = (files: File[]) => files.map((each) => `-- supabase/schemas/${each.file}\n\n${each.text}\n`).join("");
  const end = `${all(schemas.filter(isEnd))}insert into keyframe_private.installation (version) values ('${version}');\n`;
  const byHand = present?.text.split(MARK)[0] ?? `-- What changes in ${version}.\n${SHORT_WAIT}\n\n`;
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

/** The line below a release's heading. From then on neither the migration's text changes nor its name, which databases keep. */
export const releaseLine = ({ file, text }: File): string => `Migration: ${file} SHA-256 ${sha256Hex(text)}`;

function refuseEdited(present: string, migrations: File[], changelog: string): void {
  const released = releases(changelog);
  for (const [version, notes] of released) {
    const found = migrations.find((each) => isOf(each.file, version));
    const [noted, file] = /^Migration: (\S+) SHA-256 [0-9a-f]{64}$/m.exec(notes) ?? [];
    if (noted === undefined && found !== undefined) {
      throw new Error(`Write below the heading [${version}] of CHANGELOG.md: ${releaseLine(found)}`);
    }
    if (found === undefined || noted !== releaseLine(found)) {
      throw new Error(
        `${file ?? nameOf(version)} was edited, renamed or lost, and ${version} is released: restore it. A change is a migration of the next version.`,
      );
    }
  }
  const begun = migrations.find(({ file }) => ![present, ...released.keys()].some((version) => isOf(file, version)));
  if (begun !== undefined) {
    throw new Error(
      `${begun.file} is neither of a version that CHANGELOG.md has a heading for, nor of ${present}: restore the heading, or the file's name.`,
    );
  }
}

function refuseOrder(files: string[]): void {
  const order = (file = "") =>
    (file.match(/\d+/g) ?? [])
      .slice(1)
      .map((part) => part.padStart(9, "0"))
      .join();
  const wrong = files.find((file, at) => at > 0 && order(file) <= order(files[at - 1]));
  if (wrong === undefined) return;
  throw new Error(`${wrong} comes after a file of its version or of a later one: each version has one file, in order.`);
}
