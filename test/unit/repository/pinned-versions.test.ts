import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { FUNCTION_NAMES } from "../../../local/stack/function-arguments.ts";
import { filesOfFunction } from "../../support/tools/deploy-graph.ts";

const root = new URL("../../../", import.meta.url);
const read = (path: string): unknown => JSON.parse(readFileSync(new URL(path, root), "utf8"));

const packageJson = z
  .object({ dependencies: z.record(z.string(), z.string()), devDependencies: z.record(z.string(), z.string()) })
  .parse(read("package.json"));
const importsOf = (name: string) =>
  z.object({ imports: z.record(z.string(), z.string()) }).parse(read(`supabase/functions/${name}/deno.json`)).imports;

test("package.json → every version is exact", () => {
  const loose = Object.entries({ ...packageJson.dependencies, ...packageJson.devDependencies }).filter(
    ([, version]) => !/^(npm:[\w-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version),
  );
  expect(loose).toEqual([]);
});

describe("examples", () => {
  const ours: Record<string, string> = { ...packageJson.devDependencies, ...packageJson.dependencies };
  const versions = z.record(z.string(), z.string()).default({});
  const example = z.object({ dependencies: versions, devDependencies: versions });

  test.each(["vite-react", "film-workflow", "next"])(
    "the package.json of %s → every version is exact, and this project's where it has the package",
    (name) => {
      const { dependencies, devDependencies } = example.parse(read(`examples/${name}/package.json`));
      const { "keyframe-client": _ours, ...others } = { ...devDependencies, ...dependencies };
      const wrong = Object.entries(others).filter(
        ([each, version]) => !/^\d+\.\d+\.\d+$/.test(version) || version !== (ours[each] ?? version),
      );
      expect(wrong).toEqual([]);
    },
  );

  test("the deno.json of stripe-credits → the versions that its test runs with", () => {
    const { imports } = z
      .object({ imports: z.record(z.string(), z.string()) })
      .parse(read("examples/stripe-credits/deno.json"));
    const { dependencies } = z.object({ dependencies: versions }).parse(read("test/release/package.json"));
    for (const [name, target] of Object.entries(imports)) expect(target).toBe(`npm:${name}@${dependencies[name]}`);
  });

  test("film-workflow → its lock file names SHA-512 of all it installs, no registry, and nothing that runs while installing", () => {
    const entry = z.looseObject({ link: z.boolean().optional(), integrity: z.string().optional() });
    const lock = z.object({ packages: z.record(z.string(), entry) });
    const { packages } = lock.parse(read("examples/film-workflow/package-lock.json"));
    const installed = Object.entries(packages).filter(([path, { link }]) => path.startsWith("node_modules/") && !link);
    const wrong = installed.filter(
      ([, { integrity, resolved, hasInstallScript }]) =>
        !integrity?.startsWith("sha512-") || resolved !== undefined || hasInstallScript !== undefined,
    );
    expect(wrong).toEqual([]);
    expect(installed.length).toBeGreaterThan(5);
  });
});

test("supabase/functions → every folder is a function that the stack runs and config.toml declares", () => {
  const folders = readdirSync(new URL("supabase/functions", root));
  expect(folders.sort()).toEqual([...FUNCTION_NAMES].sort());
  const config = readFileSync(new URL("supabase/config.toml", root), "utf8");
  const declared = [...config.matchAll(/^\[functions\.([\w-]+)\]\nenabled = true\nverify_jwt = false$/gm)].map(
    ([, name]) => name,
  );
  expect(declared.sort()).toEqual(folders.sort());
});

describe.each(FUNCTION_NAMES)("the deno.json of %s", (name) => {
  test("a function's deno.json → pins the versions that package.json pins", () => {
    for (const [specifier, target] of Object.entries(importsOf(name))) {
      const imported = packageOf(specifier);
      const inside = specifier.slice(imported.length);
      expect(target).toBe(`npm:${imported}@${packageJson.dependencies[imported]}${inside}`);
    }
  });

  // Each by all of its name: where functions are bundled for the hosted platform, that of a package does not stand for its parts.
  test("a function's deno.json → names everything of a package that its modules import, and nothing else", async () => {
    const modules = (await filesOfFunction(name)).filter((path) => path.endsWith(".ts"));
    const imported = modules.flatMap((path) => importedFromPackages(readFileSync(new URL(path, root), "utf8")));
    expect([...new Set(imported)].sort()).toEqual(Object.keys(importsOf(name)).sort());
  });
});

function importedFromPackages(source: string): string[] {
  return [...source.matchAll(/from "([^"]+)"/g)]
    .map(([, specifier]) => specifier ?? "")
    .filter((specifier) => !specifier.startsWith(".") && !specifier.startsWith("node:"));
}

/** The package of what is imported, which may be a part of it. */
function packageOf(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}
