import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

const TESTS = new URL("../../api/", import.meta.url);

/** A global setup: at the end of a run of all of test/api, says which documented answers no test has got. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "keyframe-openapi-"));
  project.provide("openApiSeen", folder);
  return async () => {
    const files = await readdir(folder);
    const wanted = (await readdir(TESTS)).filter((name) => name.endsWith(".test.ts"));
    if (wanted.every((name) => files.includes(name))) console.log(await summarize(folder, files));
    await rm(folder, { recursive: true });
  };
}

async function summarize(folder: string, files: string[]): Promise<string> {
  const { places } = await import("./document.ts");
  const lines = await Promise.all(files.map((name) => readFile(join(folder, name), "utf8")));
  const seen = new Set(lines.flatMap((text) => text.split("\n")));
  const documented = places.flatMap(({ id, described }) =>
    Object.keys(described.responses).map((status) => ({ id, status })),
  );
  const unseen = documented.filter(({ id, status }) => !seen.has(`${id} ${status}`));
  const byStatus = Map.groupBy(unseen, ({ status }) => status);
  const told = [...byStatus].toSorted().map(([status, ones]) => `  ${status}: ${ones.map(({ id }) => id).join(" ")}`);
  return [
    `openapi.json: ${documented.length - unseen.length} of ${documented.length} documented answers seen. Not seen:`,
    ...(told.length > 0 ? told : ["  none"]),
  ].join("\n");
}
