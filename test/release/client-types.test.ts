import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { expect, onTestFinished, test } from "vitest";
import { packClient } from "../../tools/starter/install-client.ts";

test("are the types wrong? → in no way to import the client, but that require() of it needs a Node that can", async () => {
  const folder = await Deno.makeTempDir({ prefix: "keyframe-client-types-" });
  onTestFinished(() => Deno.remove(folder, { recursive: true }));
  const packed = await createPackageFromTarballData(await Deno.readFile(await packClient(folder)));
  const analysis = await checkPackage(packed);
  if (analysis.types === false) throw new Error("It has no types.");
  expect(Object.keys(analysis.entrypoints).sort()).toEqual([".", "./film", "./package.json", "./react"]);
  expect(analysis.problems.filter(({ kind }) => kind !== "CJSResolvesToESM")).toEqual([]);
});
