import { build } from "vite";

/** Bundles an entry of this repository into one ES module, as an app's build does. Returns its code and what it imports still. */
export async function bundle(entry: string): Promise<{ code: string; imports: string[] }> {
  const built = await build({
    configFile: false,
    logLevel: "error",
    build: {
      write: false,
      minify: false,
      lib: { entry: new URL(`../../../${entry}`, import.meta.url).pathname, formats: ["es"] },
    },
  });
  const [chunk, ...others] = (Array.isArray(built) ? built : [built]).flatMap((one) =>
    "output" in one ? one.output : [],
  );
  if (chunk?.type !== "chunk" || others.length > 0) throw new Error(`${entry} did not become one module.`);
  return { code: chunk.code, imports: [...chunk.imports, ...chunk.dynamicImports] };
}
