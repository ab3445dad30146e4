import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { installClient } from "../../tools/starter/install-client.ts";
import { bundle } from "../support/client/bundle.ts";

const root = new URL("../../", import.meta.url).pathname;
const read = (path: string) => Deno.readTextFile(path);

/** An app that has installed the packed client and nothing else. */
let app: string;
let installed: string;
beforeAll(async () => {
  app = await Deno.makeTempDir({ prefix: "keyframe-client-app-" });
  installed = `${app}/node_modules/keyframe-client`;
  await Deno.writeTextFile(`${app}/package.json`, JSON.stringify({ type: "module", private: true }));
  await installClient(app);
});
afterAll(() => Deno.remove(app, { recursive: true }));

test("packed → modules with their types, README, licence; no dependency; the version of the project", async () => {
  const { version, dependencies, peerDependencies, exports } = JSON.parse(await read(`${installed}/package.json`));
  expect([dependencies, peerDependencies]).toEqual([undefined, undefined]);
  expect(version).toBe(JSON.parse(await read(`${root}package.json`)).version);
  expect(await read(`${installed}/LICENSE`)).toBe(await read(`${root}LICENSE`));
  for (const target of Object.values<string>(exports["."])) {
    expect((await Deno.stat(`${installed}/${target}`)).isFile).toBe(true);
  }

  const files = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
  const modules = files(`${root}client`).filter((name) => name.endsWith(".ts"));
  expect(files(`${installed}/dist`)).toEqual(
    modules.flatMap((name) => [name.replace(".ts", ".d.ts"), name.replace(".ts", ".js")]).sort(),
  );
  expect(files(installed)).toEqual(["LICENSE", "README.md", "dist", "package.json"]);
});

test("packed → imports only itself, also in its types", async () => {
  for (const { name } of Deno.readDirSync(`${installed}/dist`)) {
    const source = await read(`${installed}/dist/${name}`);
    const foreign = [...source.matchAll(/(?:from|import\() ?"([^"]+)"/g)].filter(([, from]) => !from?.startsWith("./"));
    expect(foreign, name).toEqual([]);
  }
});

test("bundled → one module without imports, schemas or mentions of a runtime, small enough for any page", async () => {
  const { code, imports } = await bundle("client/index.ts");
  expect(imports).toEqual([]);
  for (const foreign of ["Deno", "node:", "process.", "zod", "Buffer", "window", "document"]) {
    expect(code, foreign).not.toContain(foreign);
  }
  expect(code.length).toBeLessThan(40_000);
});

const USE = `import { createKeyframeClient, KeyframeError, mustSucceed } from "keyframe-client";
import type { Prediction } from "keyframe-client";

const keyframe = createKeyframeClient({ url: "https://abc.supabase.co", getToken: () => null });

export async function film(image: Blob, onProgress: (seen: Prediction) => void): Promise<string> {
  const { projectId } = await keyframe.createProject({ title: "Harbour", textPrompt: "A harbour at dawn" });
  const { referenceImagePath } = await keyframe.uploadReferenceImage(image);
  const started = await keyframe.generate("first-frame", { projectId, referenceImagePath });
  for await (const { title } of keyframe.eachProject({ limit: 5 })) console.log(title.length);
  return mustSucceed(await keyframe.waitFor(started, { onProgress })).output.url;
}

// @ts-expect-error a first frame has no duration: the types are not \`any\`
void keyframe.generate("first-frame", { projectId: "", durationSeconds: 5 });
export const isGone = (error: unknown) => error instanceof KeyframeError && error.code === "not_found";
`;

// tsconfig.app.json of \`npm create vite@latest -- --template react-ts\`, but skipLibCheck: our types are checked too.
const VITE_REACT = {
  target: "ES2022",
  useDefineForClassFields: true,
  lib: ["ES2022", "DOM", "DOM.Iterable"],
  module: "ESNext",
  types: [],
  moduleResolution: "bundler",
  allowImportingTsExtensions: true,
  verbatimModuleSyntax: true,
  moduleDetection: "force",
  noEmit: true,
  jsx: "react-jsx",
  strict: true,
  noUnusedLocals: true,
  noUnusedParameters: true,
  erasableSyntaxOnly: true,
  noFallthroughCasesInSwitch: true,
  noUncheckedSideEffectImports: true,
};
const NODE = { target: "ES2022", lib: ["ES2022"], module: "NodeNext", strict: true, noEmit: true };
const SETTINGS = {
  "an app of Vite and React": VITE_REACT,
  "a Node server, without the types of a browser": {
    ...NODE,
    types: ["node"],
    typeRoots: [`${root}node_modules/@types`],
  },
  "a library with every strictness": {
    ...VITE_REACT,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
  },
};

// npm installs TypeScript 5 for @supabase/lite.
const TYPESCRIPT = { 5: "node_modules/@supabase/lite/node_modules/typescript", 7: "node_modules/typescript" };

describe.each(Object.entries(TYPESCRIPT))("the installed package under TypeScript %s", (version, folder) => {
  test.each(Object.entries(SETTINGS))("in %s → no mistake", { timeout: 60_000 }, async (_name, compilerOptions) => {
    const { version: actual } = JSON.parse(await read(`${root}${folder}/package.json`));
    expect(actual.split(".")[0]).toBe(version);
    await Deno.writeTextFile(`${app}/use.ts`, USE);
    const config = `tsconfig-${crypto.randomUUID()}.json`;
    await Deno.writeTextFile(`${app}/${config}`, JSON.stringify({ compilerOptions, files: ["use.ts"] }));
    const args = [`${root}${folder}/bin/tsc`, "--pretty", "false", "-p", config];
    const { stdout, stderr } = await new Deno.Command("node", { args, cwd: app }).output();
    expect(new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr)).toBe("");
  });
});

test("deno check → no mistake", { timeout: 60_000 }, async () => {
  await Deno.writeTextFile(`${app}/use.ts`, USE);
  const args = ["check", "--quiet", "--node-modules-dir=manual", "use.ts"];
  const { code, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd: app }).output();
  expect([code, new TextDecoder().decode(stderr)]).toEqual([0, ""]);
});
