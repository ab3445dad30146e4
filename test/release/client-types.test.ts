import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { expect, onTestFinished, test } from "vitest";
import { installClient, packClient } from "../../tools/starter/install-client.ts";
import { mistakesIn } from "../support/client/app-types.ts";

test("“are the types wrong?” on the client → no problem, except that require() needs a Node version that supports it", async () => {
  const folder = await Deno.makeTempDir({ prefix: "keyframe-client-types-" });
  onTestFinished(() => Deno.remove(folder, { recursive: true }));
  const packed = await createPackageFromTarballData(await Deno.readFile(await packClient(folder)));
  const analysis = await checkPackage(packed);
  if (analysis.types === false) throw new Error("It has no types.");
  expect(Object.keys(analysis.entrypoints).sort()).toEqual([".", "./film", "./package.json", "./react"]);
  expect(analysis.problems.filter(({ kind }) => kind !== "CJSResolvesToESM")).toEqual([]);
});

// Node's own types take TypeScript 5 five times as long as ours: only the settings of a browser.
test("an app under TypeScript 5 that uses the installed package → passes the type check", async () => {
  const app = await Deno.makeTempDir({ prefix: "keyframe-client-app-" });
  onTestFinished(() => Deno.remove(app, { recursive: true }));
  await Deno.writeTextFile(`${app}/package.json`, JSON.stringify({ type: "module", private: true }));
  await installClient(app);
  const compiler = new URL("node_modules/typescript", import.meta.url).pathname;
  expect(JSON.parse(await Deno.readTextFile(`${compiler}/package.json`)).version).toMatch(/^5\./);
  expect(await mistakesIn(app, compiler, "an app of Vite and React with every strictness")).toBe("");
});
