import { expect, test } from "vitest";
import { bundle } from "../support/client-bundle.ts";

const root = new URL("../../", import.meta.url).pathname;

test("bundled → one module without imports, schemas or mentions of a runtime, small enough for any page", async () => {
  const { code, imports } = await bundle("client/index.ts");
  expect(imports).toEqual([]);
  for (const foreign of ["Deno", "node:", "process.", "zod", "Buffer", "window", "document"]) {
    expect(code, foreign).not.toContain(foreign);
  }
  expect(code.length).toBeLessThan(40_000);
});

test("type-checked with the types of a browser alone → no mistake in the client", { timeout: 60_000 }, async () => {
  const folder = await Deno.makeTempDir({ prefix: "keyframe-client-types-" });
  try {
    const config = {
      extends: `${root}tsconfig.json`,
      compilerOptions: { types: [], typeRoots: [] },
      include: [`${root}client/**/*.ts`],
    };
    await Deno.writeTextFile(`${folder}/tsconfig.json`, JSON.stringify(config));
    const args = ["--noEmit", "--pretty", "false", "-p", folder];
    const { stdout } = await new Deno.Command(`${root}node_modules/.bin/tsc`, { args, stdout: "piped" }).output();
    const mistakes = new TextDecoder().decode(stdout).split("\n");
    expect(mistakes.filter((line) => /(^|\/)client\/[^/]+\.ts\(/.test(line))).toEqual([]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
