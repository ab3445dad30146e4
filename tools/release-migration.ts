import { migrationDigest } from "./digests.ts";

type Migration = { file: string; text: string };
type Release = { file: string; text: string; replaced: string[] };

const nameOf = (file: string) => file.replace(/^\d+_|\.sql$/g, "");
const ownName = (version: string) => `release_${version.replaceAll(".", "_")}`;

/** All migrations but the last one of this version. */
export const othersThanRelease = <Each extends Migration>(migrations: Each[], version: string): Each[] =>
  migrations.filter(({ file }) => nameOf(file) !== ownName(version));

/**
 * The last migration of a version, which notes in keyframe_private.installation what the database has, and makes its rights. It is
 * made anew while the version is unreleased. Throws when a migration of a released version was edited.
 *
 * @param migrations all files, oldest first
 * @param changelog a heading `## [version]` there means that the version is released
 * @param rights the rights that the other migrations grant (describe-rights.ts)
 */
export function releaseMigration(migrations: Migration[], version: string, changelog: string, rights: string): Release {
  const own = ownName(version);
  const others = othersThanRelease(migrations, version);
  const digests = others.map(({ file, text }) => [nameOf(file), migrationDigest(text)]);
  const last = others.at(-1)?.file ?? "0";
  const file = `${String(Number(last.slice(0, last.indexOf("_"))) + 100)}_${own}.sql`;
  const text = `-- Made by \`npm run schema\` after all other migrations of this version; never edited by hand.
insert into keyframe_private.installation (version, migrations) values ('${version}', '${JSON.stringify(Object.fromEntries(digests), null, 2)}');

${rights}
`;
  const edited = editedReleases(migrations, Object.fromEntries(digests), changelog);
  const present = migrations.find((each) => nameOf(each.file) === own);
  const isReleased = changelog.includes(`\n## [${version}]`);
  if (isReleased && (present?.file !== file || present.text !== text)) edited.push(version);
  if (edited.length > 0) {
    throw new Error(
      `Migrations of a released version changed (${edited.join(", ")}). Undo that, put the change into a new migration, and raise the version in package.json.`,
    );
  }
  return { file, text, replaced: present !== undefined && present.file !== file ? [present.file] : [] };
}

/** The migrations whose digest differs from the one that a released version notes. */
function editedReleases(migrations: Migration[], digests: Record<string, string>, changelog: string): string[] {
  const released = migrations.filter(({ file }) => {
    const version = /^release_(.+)$/.exec(nameOf(file))?.[1]?.replaceAll("_", ".");
    return version !== undefined && changelog.includes(`\n## [${version}]`);
  });
  const noted = released.flatMap(({ text }) =>
    Object.entries(JSON.parse(/\{[^}]*\}/.exec(text)?.[0] ?? "{}") as Record<string, string>),
  );
  return [...new Set(noted.flatMap(([name, digest]) => (digests[name] === digest ? [] : [name])))];
}
